// SPDX-License-Identifier: Apache-2.0
// A policy must mean what it shows. Characters that no editor displays, or that reorder what it displays, are refused in
// a spec, wherever they stand, and so is the one that readers put where bytes were no UTF-8: what was meant is lost, and a
// DENY would match nothing.

import { type Field, isObject } from "./field.js"

/** Control and format characters, halves of surrogate pairs, what was lost, and the two separators that JSON allows and lines do not. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\ufffd]/u
/** In a text that is itself a document (an inline key set) lines may break. */
const HIDDEN_IN_TEXT = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\ufffd]/u
const LOST = "\ufffd"

export function checkCharacters(field: Field): void {
  if (field.text !== undefined) {
    const pattern = field.at.at(-1) === "jwks" ? HIDDEN_IN_TEXT : HIDDEN
    const match = pattern.exec(field.text)
    if (match !== null) refuse(field, match[0])
    return
  }
  for (const item of field.items) checkCharacters(item)
  if (!isObject(field.value)) return
  for (const [name, value] of field.entries) {
    const match = HIDDEN.exec(name)
    if (match !== null) refuse(value, match[0])
    checkCharacters(value)
  }
}

function refuse(field: Field, character: string): void {
  if (character === LOST) {
    field.fault("bad-value", "contains U+FFFD, which stands where bytes were no UTF-8", "save the file as UTF-8")
    return
  }
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
  field.fault(
    "bad-value",
    `contains the invisible character U+${code}`,
    "type the value anew, without control or format characters",
  )
}
