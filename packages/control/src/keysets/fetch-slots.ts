// SPDX-License-Identifier: Apache-2.0
// Limits concurrent fetches. Issuers that failed last time share half of the slots, so that many dead servers, each
// holding a slot until the timeout, leave the other half to servers that answer.

import { ConcurrencyLimit } from "@merlon/wire/limits"

export class FetchSlots {
  readonly #all: ConcurrencyLimit
  readonly #suspects: ConcurrencyLimit

  constructor(atOnce: number) {
    this.#all = new ConcurrencyLimit({ atOnce })
    this.#suspects = new ConcurrencyLimit({ atOnce: Math.max(1, Math.floor(atOnce / 2)) })
  }

  /** Calls `start` when a slot is free. The returned function frees the slot, or stops waiting for one. */
  take(suspect: boolean, start: () => void): () => void {
    if (!suspect) return this.#all.take(start)
    let release = (): void => undefined
    const leave = this.#suspects.take(() => {
      release = this.#all.take(start)
    })
    return () => {
      release()
      leave()
    }
  }
}
