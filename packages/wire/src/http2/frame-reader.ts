// SPDX-License-Identifier: Apache-2.0
// Parses frames from chunks of any size. DATA content is delivered as it arrives, without a copy. Other payloads are
// delivered complete, and buffered only if they are split; unneeded payloads are skipped. An invalid length is reported
// with the header, before anything is buffered.

import { type BorrowedBytes, NO_BYTES } from "../sockets/borrowed-reads.js"
import { ERROR, type ErrorCode, FLAG, FRAME, FRAME_HEADER, MAX_FRAME_SIZE } from "./frame.js"

export const FOUND = {
  /** All bytes are consumed. */
  nothing: 0,
  /** The header of a DATA frame; its content follows in pieces. */
  dataHeader: 1,
  /** Content between `start` and `end` of `bytes`. */
  data: 2,
  /** A DATA frame is complete. */
  dataEnd: 3,
  /** Another frame, its payload between `start` and `end` of `bytes`. */
  frame: 4,
  /** A frame of an unknown type has begun. */
  unknown: 5,
  /** An invalid frame; `error` has the code. */
  error: 6,
} as const

export type Found = (typeof FOUND)[keyof typeof FOUND]

type State = "header" | "payload" | "padLength" | "content" | "padding" | "skip"

/** RFC 9113 section 6: types whose payload has a fixed length. */
const FIXED: Readonly<Record<number, number>> = {
  [FRAME.priority]: 5,
  [FRAME.reset]: 4,
  [FRAME.ping]: 8,
  [FRAME.windowUpdate]: 4,
}

export class FrameReader {
  #state: State = "header"
  /** A header that arrives in pieces, which is rare. */
  #header: Buffer | undefined
  #filled = 0
  #kept: Buffer | undefined
  #remaining = 0
  #padding = 0
  type = 0
  flags = 0
  stream = 0
  /** The length of the payload. */
  length = 0
  bytes: BorrowedBytes = NO_BYTES
  start = 0
  end = 0
  /** Where to continue. */
  next = 0
  error: ErrorCode = ERROR.none

  /** The padding of a DATA frame, including the byte that holds its length. */
  get overhead(): number {
    return (this.flags & FLAG.padded) === 0 ? 0 : this.#padding + 1
  }

  /** Whether a frame has begun and not ended. */
  get begun(): boolean {
    return this.#state !== "header" || this.#filled > 0
  }

  /** Bytes that are buffered until their frame is complete. */
  get held(): number {
    return this.#kept?.length ?? 0
  }

  /** Drops the reference to the bytes once they are consumed, so that they can be collected. */
  releaseBytes(): void {
    this.bytes = NO_BYTES
  }

  read(bytes: BorrowedBytes, from: number, to: number): Found {
    this.next = from
    for (;;) {
      switch (this.#state) {
        case "header": {
          if (!this.#readHeader(bytes, to)) return FOUND.nothing
          const found = this.#begin()
          if (found !== FOUND.nothing) return found
          break
        }
        case "payload":
          if (!this.#readPayload(bytes, to)) return FOUND.nothing
          this.#state = "header"
          return FOUND.frame
        case "padLength":
          if (this.next === to) return FOUND.nothing
          this.#padding = bytes[this.next++] ?? 0
          this.#remaining--
          // RFC 9113 section 6.1.
          if (this.#padding > this.#remaining) return this.#fail(ERROR.protocol)
          this.#remaining -= this.#padding
          this.#state = "content"
          break
        case "content":
          if (this.#remaining === 0) {
            this.#state = "padding"
            this.#remaining = this.#padding
            break
          }
          if (this.next === to) return FOUND.nothing
          this.bytes = bytes
          this.start = this.next
          this.end = Math.min(to, this.next + this.#remaining)
          this.next = this.end
          this.#remaining -= this.end - this.start
          return FOUND.data
        case "padding":
          if (!this.#pass(to)) return FOUND.nothing
          return FOUND.dataEnd
        case "skip":
          if (!this.#pass(to)) return FOUND.nothing
          break
      }
    }
  }

  #readHeader(bytes: BorrowedBytes, to: number): boolean {
    if (this.#filled === 0 && to - this.next >= FRAME_HEADER) {
      this.#parseHeader(bytes, this.next)
      this.next += FRAME_HEADER
      return true
    }
    const take = Math.min(to - this.next, FRAME_HEADER - this.#filled)
    this.#header ??= Buffer.alloc(FRAME_HEADER)
    bytes.copy(this.#header, this.#filled, this.next, this.next + take)
    this.#filled += take
    this.next += take
    if (this.#filled < FRAME_HEADER) return false
    this.#filled = 0
    this.#parseHeader(this.#header, 0)
    return true
  }

  #parseHeader(bytes: BorrowedBytes, at: number): void {
    this.length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    this.type = bytes[at + 3] ?? 0
    this.flags = bytes[at + 4] ?? 0
    // RFC 9113 section 4.1: the first bit is reserved and ignored.
    this.stream =
      (((bytes[at + 5] ?? 0) & 0x7f) << 24) |
      ((bytes[at + 6] ?? 0) << 16) |
      ((bytes[at + 7] ?? 0) << 8) |
      (bytes[at + 8] ?? 0)
  }

  #begin(): Found {
    const { type, flags, length } = this
    if (length > MAX_FRAME_SIZE) return this.#fail(ERROR.frameSize)
    this.#remaining = length
    if (type === FRAME.data) {
      const padded = (flags & FLAG.padded) !== 0
      if (padded && length === 0) return this.#fail(ERROR.frameSize)
      this.#padding = 0
      this.#state = padded ? "padLength" : "content"
      return FOUND.dataHeader
    }
    if (type > FRAME.continuation) {
      this.#state = "skip"
      return FOUND.unknown
    }
    const fixed = FIXED[type]
    if (fixed !== undefined && length !== fixed) return this.#fail(ERROR.frameSize)
    if (type === FRAME.goaway && length < 8) return this.#fail(ERROR.frameSize)
    if (type === FRAME.settings && (length % 6 !== 0 || ((flags & FLAG.ack) !== 0 && length > 0))) {
      return this.#fail(ERROR.frameSize)
    }
    this.#state = "payload"
    return FOUND.nothing
  }

  #readPayload(bytes: BorrowedBytes, to: number): boolean {
    const here = Math.min(to - this.next, this.#remaining)
    if (this.#kept === undefined && here === this.#remaining) {
      this.bytes = bytes
      this.start = this.next
      this.end = this.next + here
      this.next = this.end
      return true
    }
    const kept = this.#kept ?? Buffer.allocUnsafe(this.length)
    this.#kept = kept
    bytes.copy(kept, this.length - this.#remaining, this.next, this.next + here)
    this.next += here
    this.#remaining -= here
    if (this.#remaining > 0) return false
    this.bytes = kept
    this.start = 0
    this.end = kept.length
    this.#kept = undefined
    return true
  }

  #pass(to: number): boolean {
    const here = Math.min(to - this.next, this.#remaining)
    this.next += here
    this.#remaining -= here
    if (this.#remaining > 0) return false
    this.#state = "header"
    return true
  }

  #fail(error: ErrorCode): Found {
    this.error = error
    return FOUND.error
  }
}
