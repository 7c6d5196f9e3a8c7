// SPDX-License-Identifier: Apache-2.0
// Holds what arrives of a request while a provider is queried. Its caller is paused as soon as anything is held, so
// this holds no more than what was already on its way.

import { type BorrowedBytes, ByteQueue } from "@merlon/wire"
import type { Fields } from "@merlon/wire/http"

const MAX_PART = 64 * 1024

export class HeldRequest {
  readonly #content = new ByteQueue()
  #end: { readonly trailers: Fields | undefined } | undefined

  get isEmpty(): boolean {
    return this.#content.length === 0
  }

  content(bytes: BorrowedBytes, from: number, to: number): void {
    this.#content.add(bytes, from, to)
  }

  end(trailers: Fields | undefined): void {
    this.#end = { trailers }
  }

  /** Passes everything on in the order in which it arrived. */
  replay(content: (bytes: Buffer) => void, end: (trailers: Fields | undefined) => void): void {
    for (let part = this.#content.take(MAX_PART); part !== undefined; part = this.#content.take(MAX_PART)) content(part)
    if (this.#end !== undefined) end(this.#end.trailers)
  }
}
