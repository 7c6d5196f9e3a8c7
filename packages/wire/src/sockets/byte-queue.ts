// SPDX-License-Identifier: Apache-2.0
// A queue of waiting content in a few large buffers, however small the received chunks: a peer that sends single bytes
// must not make us keep an object for each.

import type { BorrowedBytes } from "./borrowed-reads.js"

const MIN_CHUNK = 4 * 1024

export class ByteQueue {
  #chunks: Buffer[] = []
  /** How much of the last chunk is used, and of the first taken. */
  #used = 0
  #taken = 0
  length = 0

  /** Copies. */
  add(bytes: BorrowedBytes, from: number, to: number): void {
    let at = from
    const last = this.#chunks.at(-1)
    if (last !== undefined && this.#used < last.length) {
      const take = Math.min(to - at, last.length - this.#used)
      bytes.copy(last, this.#used, at, at + take)
      this.#used += take
      at += take
    }
    if (at < to) {
      const chunk = Buffer.allocUnsafe(Math.max(MIN_CHUNK, to - at))
      bytes.copy(chunk, 0, at, to)
      this.#chunks.push(chunk)
      this.#used = to - at
    }
    this.length += to - from
  }

  /** At most so many bytes from the front, the receiver's to keep; undefined where there are none. */
  take(most: number): Buffer | undefined {
    const first = this.#chunks[0]
    if (first === undefined || most <= 0) return undefined
    const end = this.#chunks.length === 1 ? this.#used : first.length
    const until = Math.min(end, this.#taken + most)
    const part = first.subarray(this.#taken, until)
    this.length -= part.length
    this.#taken = until
    if (until === end) {
      this.#chunks.shift()
      this.#taken = 0
    }
    return part
  }

  clear(): void {
    this.#chunks = []
    this.#taken = 0
    this.length = 0
  }
}
