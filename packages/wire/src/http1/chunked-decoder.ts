// SPDX-License-Identifier: Apache-2.0
// The chunked coding (RFC 9112 section 7.1) as a state machine over chunks of bytes. Sizes are hexadecimal digits only;
// extensions must be well formed and are ignored; lines end in CRLF; trailers are parsed like headers. Anything else is
// an error, because chunk syntax is where parsers have disagreed most. Whitespace around `;` and `=` (RFC 9112 section
// 7.1.1) is accepted from applications but not from callers, who could mislead a parser with it.

import { CR, FIELD, HEX, LF, TOKEN } from "../http/characters.js"
import type { HttpError } from "../http/http-error.js"
import { FIELD_KIND } from "../http2/field-kind.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import { HeadScanner } from "./head-scanner.js"
import { type HeaderBlock, parseHeaderLines } from "./header-block.js"
import { STEP, type Step } from "./step.js"

/** Digits of a size, including leading zeros. Twelve are enough for 256 TB and exact in a double. */
const MAX_SIZE_DIGITS = 12
/** Limit on the extensions of one body, in bytes: no client needs them, and they cost as much to parse as content. */
const MAX_EXTENSION_BYTES = 1_024

const SPACE = 0x20
const TAB = 0x09
const SEMICOLON = 0x3b
const EQUALS = 0x3d
const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * `size`: digits of a size; `#digits` counts them. `name`, `value`: those of an extension. `quoted`, `closed`: inside
 * and after a quoted value. `nameGap`: whitespace after a name. `gap`: any other whitespace before `;`. `sizeEnd`: the
 * LF of the size line. `data`: content. `dataCr`, `dataLf`: the line end after content. `trailers`: everything after
 * the last chunk.
 */
type State =
  | "size"
  | "name"
  | "nameGap"
  | "value"
  | "quoted"
  | "closed"
  | "gap"
  | "sizeEnd"
  | "data"
  | "dataCr"
  | "dataLf"
  | "trailers"

export class ChunkedDecoder {
  readonly #maxTrailerLines: number
  readonly #takesWhitespace: boolean
  readonly #scanner: HeadScanner
  #state: State = "size"
  #digits = 0
  #size = 0
  #extensionBytes = 0
  /** Length of the current name or value of an extension, neither of which may be empty. */
  #part = 0
  #begun = false
  start = 0
  end = 0
  next = 0
  error: HttpError = "bad-chunk"
  trailers: HeaderBlock | undefined

  constructor(maxTrailerBytes: number, maxTrailerLines: number, takesWhitespace: boolean) {
    this.#maxTrailerLines = maxTrailerLines
    this.#takesWhitespace = takesWhitespace
    this.#scanner = new HeadScanner(maxTrailerBytes)
  }

  /** Bytes held for an incomplete trailer section. */
  get held(): number {
    return this.#scanner.held
  }

  begin(): void {
    this.#state = "size"
    this.#digits = 0
    this.#size = 0
    this.#extensionBytes = 0
    this.#begun = false
    this.trailers = undefined
    this.#scanner.reset()
  }

  read(bytes: BorrowedBytes, from: number, to: number): Step {
    let at = from
    while (at < to) {
      if (this.#state === "data") return this.#content(at, to)
      if (this.#state === "trailers") return this.#trailerSection(bytes, at, to)
      if (!this.#syntax(bytes[at] ?? 0)) return this.#reject("bad-chunk")
      at++
    }
    this.next = at
    return STEP.more
  }

  #content(at: number, to: number): Step {
    const end = Math.min(to, at + this.#size)
    this.#size -= end - at
    if (this.#size === 0) this.#state = "dataCr"
    this.start = at
    this.end = end
    this.next = end
    return STEP.data
  }

  #trailerSection(bytes: BorrowedBytes, at: number, to: number): Step {
    // Almost always there are no trailers, and the section is only the empty line.
    if (!this.#begun && bytes[at] === CR && at + 1 < to && bytes[at + 1] === LF) {
      this.next = at + 2
      return STEP.done
    }
    this.#begun = true
    const after = this.#scanner.scan(bytes, at, to)
    if (after === -2) return this.#reject(this.#scanner.error)
    if (after === -1) {
      this.next = to
      return STEP.more
    }
    const trailers = parseHeaderLines(this.#scanner.text, 0, this.#maxTrailerLines)
    if (typeof trailers === "string") return this.#reject(trailers)
    if (!allowed(trailers)) return this.#reject("bad-trailer")
    this.trailers = trailers.size === 0 ? undefined : trailers
    this.next = after
    return STEP.done
  }

  /** Parses one byte outside the content; false if it is not allowed here. */
  #syntax(byte: number): boolean {
    if ((byte === SPACE || byte === TAB) && this.#state !== "quoted") return this.#takesWhitespace && this.#whitespace()
    switch (this.#state) {
      case "size":
        return this.#sizeByte(byte)
      case "name":
        return TOKEN[byte] === 1 ? this.#count() : byte === EQUALS ? this.#partTo("value") : this.#extensionEnd(byte)
      case "value":
        if (byte === QUOTE && this.#part === 0) return this.#to("quoted")
        return TOKEN[byte] === 1 ? this.#count() : this.#extensionEnd(byte)
      case "quoted":
        // The grammar allows a quoted pair, but no client sends one, and parsers have had bugs here.
        if (byte === QUOTE) return this.#to("closed")
        return FIELD[byte] === 1 && byte !== BACKSLASH && this.#count()
      case "closed":
        this.#part = 1
        return this.#extensionEnd(byte)
      case "nameGap":
        return (byte === EQUALS && this.#partTo("value")) || (byte === SEMICOLON && this.#partTo("name"))
      case "gap":
        this.#part = 0
        return byte === SEMICOLON && this.#to("name")
      case "sizeEnd":
        return byte === LF && this.#sizeLineEnd()
      case "dataCr":
        return byte === CR && this.#to("dataLf")
      case "dataLf":
        this.#digits = 0
        return byte === LF && this.#to("size")
      case "data":
      case "trailers":
        return false
    }
  }

  #sizeByte(byte: number): boolean {
    const digit = HEX[byte] ?? 0xff
    if (digit <= 15) {
      this.#size = this.#digits === 0 ? digit : this.#size * 16 + digit
      this.#digits++
      return this.#digits <= MAX_SIZE_DIGITS
    }
    if (this.#digits === 0) return false
    if (byte === CR) return this.#to("sizeEnd")
    this.#part = 0
    return byte === SEMICOLON && this.#to("name")
  }

  /**
   * Parses one byte of whitespace where an extension may follow or has begun. It counts towards the extension limit.
   */
  #whitespace(): boolean {
    this.#extensionBytes++
    if (this.#extensionBytes > MAX_EXTENSION_BYTES) return false
    switch (this.#state) {
      case "size":
        return this.#digits > 0 && this.#to("gap")
      case "name":
        return this.#part === 0 || this.#to("nameGap")
      case "value":
        return this.#part === 0 || this.#to("gap")
      case "closed":
        return this.#to("gap")
      case "nameGap":
      case "gap":
        return true
      default:
        return false
    }
  }

  #extensionEnd(byte: number): boolean {
    if (this.#part === 0) return false
    if (byte === CR) return this.#to("sizeEnd")
    return byte === SEMICOLON && this.#partTo("name")
  }

  #sizeLineEnd(): boolean {
    return this.#to(this.#size === 0 ? "trailers" : "data")
  }

  #count(): boolean {
    this.#part++
    this.#extensionBytes++
    return this.#extensionBytes <= MAX_EXTENSION_BYTES
  }

  #partTo(state: State): boolean {
    if (this.#part === 0) return false
    this.#part = 0
    return this.#to(state)
  }

  #to(state: State): boolean {
    this.#state = state
    return true
  }

  #reject(error: HttpError): Step {
    this.error = error
    return STEP.error
  }
}

/** RFC 9110 section 6.5.1: fields for framing or routing are not allowed in trailers. */
function allowed(trailers: HeaderBlock): boolean {
  for (let index = 0; index < trailers.size; index++) {
    const kind = trailers.kind(index)
    if (kind >= FIELD_KIND.host && kind <= FIELD_KIND.upgrade) return false
  }
  return true
}
