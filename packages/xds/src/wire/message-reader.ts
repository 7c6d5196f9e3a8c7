// SPDX-License-Identifier: Apache-2.0
// Reassembles messages from the content of a call, in chunks of any size (gRPC over HTTP/2, "Length-Prefixed-Message").
// Memory grows with received bytes, never with an announced length.

import { type BorrowedBytes, ByteQueue, copyOf } from "@merlon/wire"

export type MessageError = "too-large" | "compressed"

const PREFIX = 5

export class MessageReader {
  readonly #most: number
  readonly #kept = new ByteQueue()
  /** Length of the current message; undefined before its prefix has arrived. */
  #length: number | undefined

  constructor(mostBytes: number) {
    this.#most = mostBytes
  }

  /** Whether a message has begun and not ended. */
  get begun(): boolean {
    return this.#length !== undefined || this.#kept.length > 0
  }

  /** Passes a copy of each complete message to `tell`, which returns whether to continue. */
  read(
    bytes: BorrowedBytes,
    from: number,
    to: number,
    deliver: (message: Buffer) => boolean,
  ): MessageError | undefined {
    let at = from
    for (;;) {
      if (this.#length === undefined) {
        const prefix = this.#next(bytes, at, to, PREFIX)
        if (prefix === undefined) return undefined
        at += this.#used
        if (prefix[0] !== 0) return "compressed"
        const length = prefix.readUInt32BE(1)
        if (length > this.#most) return "too-large"
        this.#length = length
      }
      const message = this.#next(bytes, at, to, this.#length)
      if (message === undefined) return undefined
      at += this.#used
      this.#length = undefined
      if (!deliver(message)) return undefined
    }
  }

  /** How many of the given bytes the last `#next` consumed. */
  #used = 0

  #next(bytes: BorrowedBytes, at: number, to: number, length: number): Buffer | undefined {
    const kept = this.#kept
    const missing = length - kept.length
    if (to - at < missing) {
      if (to > at) kept.add(bytes, at, to)
      return undefined
    }
    this.#used = missing
    if (kept.length === 0) return copyOf(bytes, at, at + length)
    if (missing > 0) kept.add(bytes, at, at + missing)
    return this.#whole()
  }

  #whole(): Buffer {
    const parts: Buffer[] = []
    for (let part = this.#kept.take(this.#most); part !== undefined; part = this.#kept.take(this.#most))
      parts.push(part)
    this.#kept.clear()
    const [only] = parts
    return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
  }
}
