// SPDX-License-Identifier: Apache-2.0
// Finds the end of a head (or a trailer section) in chunks of any size. Each byte is read once, and nothing is copied
// while a head is in one chunk. A line that does not end in CRLF is reported at once, because another parser may have
// found an end there (RFC 9112 section 2.2).

import { CR, DEL, HT, LF, SP } from "../http/characters.js"
import type { HttpError } from "../http/http-error.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"

const FIRST_CAPACITY = 1_024
const EMPTY_LINE = 2

export class HeadScanner {
  readonly #maxBytes: number
  readonly #skipsEmptyLine: boolean
  #skipped = false
  #kept: Buffer | undefined
  #length = 0
  #afterCr = false
  #lineEmpty = true
  #controls = false
  #text = ""
  #printable = false
  #error: HttpError = "bad-line-end"

  /**
   * With `skipsEmptyLine`, one empty line before a request is skipped (RFC 9112 section 2.2): some clients send an
   * extra one after a body.
   */
  constructor(maxBytes: number, skipsEmptyLine = false) {
    this.#maxBytes = maxBytes
    this.#skipsEmptyLine = skipsEmptyLine
  }

  /** The complete head with the empty line that ends it, once `scan` has found it. */
  get text(): string {
    return this.#text
  }

  /** Whether `text` contains no control characters except line ends and tabs. */
  get printable(): boolean {
    return this.#printable
  }

  get error(): HttpError {
    return this.#error
  }

  /** Whether part of a head has arrived, but not its end. */
  get begun(): boolean {
    return this.#length > 0
  }

  /** Bytes held for an incomplete head. */
  get held(): number {
    return this.#kept?.length ?? 0
  }

  /** Returns where the bytes after the head begin; -1 if more is needed, -2 on an error. */
  scan(bytes: BorrowedBytes, first: number, to: number): number {
    let from = first
    let limit = Math.min(to, from + this.#maxBytes - this.#length)
    let afterCr = this.#afterCr
    let lineEmpty = this.#lineEmpty
    for (let at = from; at < limit; at++) {
      const byte = bytes[at] ?? 0
      if (byte === LF) {
        if (!afterCr) return this.#reject("bad-line-end")
        if (lineEmpty) {
          if (!this.#skips(at + 1 - from)) return this.#finish(bytes, from, at + 1)
          from = at + 1
          limit = Math.min(to, from + this.#maxBytes)
        }
        afterCr = false
        lineEmpty = true
      } else if (afterCr) {
        return this.#reject("bad-line-end")
      } else if (byte === CR) {
        afterCr = true
      } else {
        lineEmpty = false
        if ((byte < SP && byte !== HT) || byte === DEL) this.#controls = true
      }
    }
    if (limit < to) return this.#reject("head-too-large")
    this.#afterCr = afterCr
    this.#lineEmpty = lineEmpty
    this.#keep(bytes, from, to)
    return -1
  }

  reset(): void {
    this.#kept = undefined
    this.#length = 0
    this.#afterCr = false
    this.#lineEmpty = true
    this.#controls = false
  }

  /** Whether the line that ends `length` bytes after the kept ones is an empty line to skip. */
  #skips(length: number): boolean {
    if (!this.#skipsEmptyLine || this.#skipped || this.#length + length !== EMPTY_LINE) return false
    this.reset()
    this.#skipped = true
    return true
  }

  #finish(bytes: BorrowedBytes, from: number, end: number): number {
    if (this.#kept === undefined) {
      this.#text = bytes.toString("latin1", from, end)
    } else {
      this.#keep(bytes, from, end)
      this.#text = this.#kept.toString("latin1", 0, this.#length)
    }
    this.#printable = !this.#controls
    this.#skipped = false
    this.reset()
    return end
  }

  #reject(error: HttpError): number {
    this.#error = error
    return -2
  }

  #keep(bytes: BorrowedBytes, from: number, to: number): void {
    if (from === to) return
    const needed = this.#length + to - from
    if (this.#kept === undefined || this.#kept.length < needed) {
      // Doubles the capacity, so that a head that is sent byte by byte costs no more than its size, but never beyond
      // the maximum.
      const capacity = Math.min(Math.max(FIRST_CAPACITY, 2 * needed), Math.max(needed, this.#maxBytes))
      const larger = Buffer.allocUnsafeSlow(capacity)
      this.#kept?.copy(larger, 0, 0, this.#length)
      this.#kept = larger
    }
    bytes.copy(this.#kept, this.#length, from, to)
    this.#length = needed
  }
}
