// SPDX-License-Identifier: Apache-2.0
// A queue of waiting bytes in a few large buffers, however small the received chunks are: a peer that sends single
// bytes must not make us keep an object for each.

import type { BorrowedBytes } from "./borrowed-reads.js"

const MIN_CHUNK = 4 * 1024

export class ByteQueue {
  #chunks: Buffer[] = []
  /** How much of the last chunk is used, and how much of the first has been taken. */
  #used = 0
  #taken = 0
  length = 0

  /** Copies the bytes into the queue. */
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

  /** Removes at most `most` bytes from the front. The caller owns them; undefined if there are none. */
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
