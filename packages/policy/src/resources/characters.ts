// SPDX-License-Identifier: Apache-2.0
// A policy must mean what it shows. A spec with characters that editors do not display, or that reorder the displayed
// text, is rejected, and so is U+FFFD, which decoders write in place of invalid UTF-8: the original text is lost, and a
// DENY would match nothing.

import type { Path } from "./document-error.js"
import { type Field, isObject } from "./field.js"

/**
 * Control and format characters, lone surrogates, the replacement character, and the two separators that JSON allows
 * unescaped.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\ufffd]/u
/** The same for a text that is itself a document, which may have line breaks. */
const HIDDEN_IN_TEXT = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\ufffd]/u
/** Almost every text is ASCII, and this test is much cheaper than one for Unicode classes. */
const PRINTABLE = /^[ -~]*$/
const DOCUMENTS: readonly unknown[] = ["jwks", "caBundle", "body"]
const LOST = "\ufffd"

export function checkCharacters(field: Field): void {
  walk(field.value, [], (at, character) => reject(field.below(at), character))
}

/** All calls share one path: a document can have a hundred thousand values, and hardly any path is ever reported. */
function walk(value: unknown, way: (string | number)[], found: (at: Path, character: string) => void): void {
  if (typeof value === "string") {
    if (PRINTABLE.test(value)) return
    const match = (DOCUMENTS.includes(way.at(-1)) ? HIDDEN_IN_TEXT : HIDDEN).exec(value)
    if (match !== null) found([...way], match[0])
    return
  }
  const isList = Array.isArray(value)
  if (!isList && !isObject(value)) return
  for (const [name, item] of isList ? value.entries() : Object.entries(value)) {
    way.push(name)
    const match = typeof name === "string" && !PRINTABLE.test(name) ? HIDDEN.exec(name) : null
    if (match !== null) found([...way], match[0])
    walk(item, way, found)
    way.pop()
  }
}

function reject(field: Field, character: string): void {
  if (character === LOST) {
    field.error("bad-value", "contains U+FFFD, which stands where bytes were no UTF-8", "save the file as UTF-8")
    return
  }
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
  field.error(
    "bad-value",
    `contains the invisible character U+${code}`,
    "type the value anew, without control or format characters",
  )
}
