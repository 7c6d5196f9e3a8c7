// SPDX-License-Identifier: Apache-2.0
// Keeps the content of a request while it may be retried: up to a small size, and only until the response begins.

import { type BorrowedBytes, copyOf } from "@merlon/wire"

const MAX_BYTES = 64 * 1024

export class SentContent {
  #parts: Buffer[] = []
  #bytes = 0
  #whole = true

  /** Whether all content that was sent is kept. */
  get isWhole(): boolean {
    return this.#whole
  }

  get parts(): readonly Buffer[] {
    return this.#parts
  }

  add(bytes: BorrowedBytes, from: number, to: number): void {
    if (!this.#whole) return
    this.#bytes += to - from
    if (this.#bytes > MAX_BYTES) this.forget()
    else this.#parts.push(copyOf(bytes, from, to))
  }

  /** The request will not be sent again. */
  forget(): void {
    this.#whole = false
    this.#parts = []
  }
}
