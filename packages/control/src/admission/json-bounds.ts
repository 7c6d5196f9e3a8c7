// SPDX-License-Identifier: Apache-2.0
// Estimates the memory for a JSON text before it is parsed: 6 MB of brackets are millions of values, and deep nesting
// exhausts the stack of any code that walks them.

export interface JsonBounds {
  readonly depth: number
  readonly values: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN = new Set([0x5b, 0x7b])
const CLOSE = new Set([0x5d, 0x7d])

/** Counts at least as many values and levels as a parser would create. Does not check whether the text is valid. */
export function exceedsJson(bytes: Buffer, { depth, values }: JsonBounds): boolean {
  let level = 0
  let count = 1
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) {
      at++
      while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
    } else if (byte === COMMA || byte === COLON) count++
    else if (OPEN.has(byte)) {
      count++
      level++
    } else if (CLOSE.has(byte)) level--
    if (level > depth || count > values) return true
  }
  return false
}
