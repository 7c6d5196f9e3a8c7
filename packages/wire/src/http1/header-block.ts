// SPDX-License-Identifier: Apache-2.0
// The headers of one message, parsed once and kept as the received text. Forwarding copies whole ranges of it, and a
// value becomes a string only on demand. Bytes are latin1 characters throughout, so they are written exactly as they
// were read.

import { COLON, CR, FIELD, HT, LF, SP, TOKEN } from "../http/characters.js"
import type { Fields } from "../http/fields.js"
import type { HttpError } from "../http/http-error.js"
import { FIELD_KIND, type FieldKind, fieldName } from "../http2/field-kind.js"

/** Offsets per line: where it begins, where its value begins and ends, where the next line begins. */
const SPAN = 4

export class HeaderBlock implements Fields {
  readonly text: string
  readonly #names: string[] = []
  readonly #kinds: FieldKind[] = []
  readonly #spans: number[] = []
  #present = 0

  constructor(text: string) {
    this.text = text
  }

  get size(): number {
    return this.#names.length
  }

  add(start: number, nameEnd: number, valueStart: number, valueEnd: number, end: number): FieldKind {
    const { lower, kind } = fieldName(this.text.slice(start, nameEnd))
    this.#names.push(lower)
    this.#kinds.push(kind)
    this.#spans.push(start, valueStart, valueEnd, end)
    this.#present |= 1 << kind
    return kind
  }

  /** Whether there is a line of this kind. */
  has(kind: FieldKind): boolean {
    return (this.#present & (1 << kind)) !== 0
  }

  /** In lower case. */
  name(index: number): string {
    return this.#names[index] ?? ""
  }

  kind(index: number): FieldKind {
    return this.#kinds[index] ?? FIELD_KIND.plain
  }

  value(index: number): string {
    return this.text.slice(this.#spans[index * SPAN + 1], this.#spans[index * SPAN + 2])
  }

  /** The line as it was sent, with its name, white space and line end. */
  line(index: number): string {
    return this.text.slice(this.#spans[index * SPAN], this.#spans[index * SPAN + 3])
  }

  sensitive(): boolean {
    return false
  }

  lines(keep: (index: number) => boolean): string {
    let text = ""
    let from = 0
    let until = 0
    for (let index = 0; index < this.#names.length; index++) {
      if (!keep(index)) continue
      const start = this.#spans[index * SPAN] ?? 0
      // Adjacent lines are copied together.
      if (start !== until) {
        text += this.text.slice(from, until)
        from = start
      }
      until = this.#spans[index * SPAN + 3] ?? 0
    }
    return text + this.text.slice(from, until)
  }

  get(lowerCaseName: string): readonly string[] | undefined {
    let found: string[] | undefined
    for (let index = 0; index < this.#names.length; index++) {
      if (this.#names[index] !== lowerCaseName) continue
      if (found === undefined) found = [this.value(index)]
      else found.push(this.value(index))
    }
    return found
  }

  /** Removes the lines with these names, as if they had not been sent. */
  remove(lowerCaseNames: readonly string[]): void {
    let kept = 0
    for (let index = 0; index < this.#names.length; index++) {
      if (lowerCaseNames.includes(this.name(index))) continue
      this.#names[kept] = this.name(index)
      this.#kinds[kept] = this.kind(index)
      for (let part = 0; part < SPAN; part++) {
        this.#spans[kept * SPAN + part] = this.#spans[index * SPAN + part] ?? 0
      }
      kept++
    }
    this.#names.length = kept
    this.#kinds.length = kept
    this.#spans.length = kept * SPAN
  }
}

/** Beyond this length the end of a value is found with `indexOf`, if its characters are known to be valid. */
const LONG = 24

/** Parses the lines from the first header line on; the text ends with the empty line. `printable` is the scanner's. */
export function parseHeaderLines(
  text: string,
  start: number,
  maxLines: number,
  printable = false,
): HeaderBlock | HttpError {
  const block = new HeaderBlock(text)
  let at = start
  while (text.charCodeAt(at) !== CR) {
    if (block.size === maxLines) return "too-many-headers"
    const lineStart = at
    while (TOKEN[text.charCodeAt(at)] === 1) at++
    const nameEnd = at
    const after = text.charCodeAt(at)
    // RFC 9112 section 5.2: for some parsers, a line that begins with white space continues the line before it.
    if (nameEnd === lineStart && (after === SP || after === HT)) return "folded-header"
    // RFC 9112 section 5.1: no white space is allowed before the colon.
    if (nameEnd === lineStart || after !== COLON) return "bad-header-name"
    at++
    while (isBlank(text.charCodeAt(at))) at++
    const valueStart = at
    const long = printable ? valueStart + LONG : text.length
    while (FIELD[text.charCodeAt(at)] === 1 && at < long) at++
    if (at === long) at = text.indexOf("\r", at)
    if (text.charCodeAt(at) !== CR || text.charCodeAt(at + 1) !== LF) return "bad-header-value"
    let valueEnd = at
    while (valueEnd > valueStart && isBlank(text.charCodeAt(valueEnd - 1))) valueEnd--
    at += 2
    block.add(lineStart, nameEnd, valueStart, valueEnd, at)
  }
  return block
}

function isBlank(character: number): boolean {
  return character === SP || character === HT
}
