// SPDX-License-Identifier: Apache-2.0
// Header values are bytes, stored as text with one character per byte. A value that a person writes in a policy reaches
// applications as UTF-8, so it is compared as UTF-8. Otherwise a DENY on `Zoë` would match no caller.

const BEYOND_ASCII = /[^\0-\x7f]/

/** The UTF-8 of a text, one character per byte. */
export function byteText(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text
}

/** RFC 9110 section 5.5: blanks around a field value are no part of it. */
export function withoutOuterBlanks(text: string): string {
  // Not by an expression: `[\t ]+$` would look at every run of blanks once from each of them.
  let [from, to] = [0, text.length]
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (from < to && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

/** The way back, for people; what is no UTF-8 is shown as it is held. */
export function readableText(bytes: string): string {
  if (!BEYOND_ASCII.test(bytes)) return bytes
  const text = Buffer.from(bytes, "latin1").toString("utf8")
  return text.includes("\ufffd") ? bytes : text
}
