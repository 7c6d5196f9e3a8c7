// SPDX-License-Identifier: Apache-2.0
// Reads a body of any framing from chunks of bytes. `read` moves to the next part of the content without a copy or a
// callback. There is one reader per connection and direction, reset for each message.

import type { Framing } from "../http/framing.js"
import type { HttpError } from "../http/http-error.js"
import type { BorrowedBytes } from "../sockets/borrowed-reads.js"
import { ChunkedDecoder } from "./chunked-decoder.js"
import type { HeaderBlock } from "./header-block.js"
import { STEP, type Step } from "./step.js"

export class BodyReader {
  readonly #maxTrailerBytes: number
  readonly #maxTrailerLines: number
  readonly #takesWhitespace: boolean
  /** Created on first use: most connections never carry a chunked body, and there are many connections. */
  #chunked: ChunkedDecoder | undefined
  #kind: Framing["kind"] = "none"
  #remaining = 0
  start = 0
  end = 0
  /** Where to continue reading. */
  next = 0

  /** `takesWhitespace` allows whitespace in chunk extensions; see `ChunkedDecoder`. */
  constructor(maxTrailerBytes: number, maxTrailerLines: number, takesWhitespace: boolean) {
    this.#maxTrailerBytes = maxTrailerBytes
    this.#maxTrailerLines = maxTrailerLines
    this.#takesWhitespace = takesWhitespace
  }

  begin(framing: Framing): void {
    this.#kind = framing.kind
    this.#remaining = framing.kind === "length" ? framing.length : 0
    if (framing.kind === "chunked") this.#decoder().begin()
  }

  /** Bytes held for an incomplete trailer section. */
  get held(): number {
    return this.#kind === "chunked" ? (this.#chunked?.held ?? 0) : 0
  }

  get trailers(): HeaderBlock | undefined {
    return this.#kind === "chunked" ? this.#chunked?.trailers : undefined
  }

  get error(): HttpError {
    return this.#chunked?.error ?? "bad-chunk"
  }

  /** Bytes of content still to come; infinite if unknown. */
  get remaining(): number {
    if (this.#kind === "length") return this.#remaining
    return this.#kind === "none" ? 0 : Number.POSITIVE_INFINITY
  }

  get endsWithConnection(): boolean {
    return this.#kind === "close"
  }

  read(bytes: BorrowedBytes, from: number, to: number): Step {
    switch (this.#kind) {
      case "none":
        this.next = from
        return STEP.done
      case "length":
        return this.#readLength(from, to)
      case "chunked": {
        const decoder = this.#decoder()
        const step = decoder.read(bytes, from, to)
        this.start = decoder.start
        this.end = decoder.end
        this.next = decoder.next
        return step
      }
      case "close":
        this.start = from
        this.end = to
        this.next = to
        return from < to ? STEP.data : STEP.more
    }
  }

  #decoder(): ChunkedDecoder {
    this.#chunked ??= new ChunkedDecoder(this.#maxTrailerBytes, this.#maxTrailerLines, this.#takesWhitespace)
    return this.#chunked
  }

  #readLength(from: number, to: number): Step {
    if (this.#remaining === 0) {
      this.next = from
      return STEP.done
    }
    if (from === to) {
      this.next = from
      return STEP.more
    }
    const end = Math.min(to, from + this.#remaining)
    this.#remaining -= end - from
    this.start = from
    this.end = end
    this.next = end
    return STEP.data
  }
}
