// SPDX-License-Identifier: Apache-2.0
// The header block of HEADERS and its CONTINUATION frames (RFC 9113 section 4.3). A block in one frame is read in
// place; a block in several frames is collected, up to the largest list that we accept.

import { type BorrowedBytes, copyOf, NO_BYTES } from "../sockets/borrowed-reads.js"
import { ERROR, type ErrorCode, FLAG } from "./frame.js"
import type { FrameReader } from "./frame-reader.js"

/**
 * Allowed beyond the list limit, so that a list that is a little too large gets a response instead of a closed
 * connection.
 */
const SLACK = 32 * 1024
/** A peer that needs more frames made them small on purpose. */
const MAX_CONTINUATIONS = 128

export class HeaderSection {
  readonly #maxBytes: number
  #gathered: Buffer[] = []
  #size = 0
  #continuations = 0
  /** Whether CONTINUATION must follow. */
  open = false
  stream = 0
  ended = false
  bytes: BorrowedBytes = NO_BYTES
  start = 0
  end = 0

  constructor(maxListBytes: number) {
    this.#maxBytes = maxListBytes + SLACK
  }

  /** Bytes that are buffered until the section is complete. */
  get held(): number {
    return this.open ? this.#size : 0
  }

  /** Drops the reference to the bytes once they are decoded, so that they can be collected. */
  releaseBytes(): void {
    this.bytes = NO_BYTES
  }

  begin(reader: FrameReader): ErrorCode {
    const { bytes, flags, stream } = reader
    let { start, end } = reader
    if (stream === 0) return ERROR.protocol
    if ((flags & FLAG.padded) !== 0) {
      if (start === end) return ERROR.frameSize
      const padding = bytes[start++] ?? 0
      if (padding > end - start) return ERROR.protocol
      end -= padding
    }
    if ((flags & FLAG.priority) !== 0) {
      if (end - start < 5) return ERROR.frameSize
      // RFC 7540 section 5.3.1: a stream cannot depend on itself. RFC 9113 ignores priorities otherwise.
      if ((bytes.readUInt32BE(start) & 0x7fffffff) === stream) return ERROR.protocol
      start += 5
    }
    this.stream = stream
    this.ended = (flags & FLAG.endStream) !== 0
    this.bytes = bytes
    this.start = start
    this.end = end
    if ((flags & FLAG.endHeaders) !== 0) return ERROR.none
    this.open = true
    this.#gathered = [copyOf(bytes, start, end)]
    this.#size = end - start
    this.#continuations = 0
    return ERROR.none
  }

  continue({ bytes, start, end, flags }: FrameReader): ErrorCode {
    if (!this.open) return ERROR.protocol
    this.#size += end - start
    // Fail closed: an endless section would fill the memory before it could be rejected (CVE-2024-27316).
    if (this.#size > this.#maxBytes || ++this.#continuations > MAX_CONTINUATIONS) return ERROR.calm
    if (end > start) this.#gathered.push(copyOf(bytes, start, end))
    if ((flags & FLAG.endHeaders) === 0) return ERROR.none
    this.open = false
    this.bytes = Buffer.concat(this.#gathered)
    this.start = 0
    this.end = this.bytes.length
    this.#gathered = []
    return ERROR.none
  }
}
