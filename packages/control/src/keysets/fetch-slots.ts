// SPDX-License-Identifier: Apache-2.0
// How many fetches run at a time. Issuers that failed last time share half of the slots, so that a crowd of dead servers,
// each holding its slot until the timeout, leaves the other half to those that answer.

import { ConcurrencyLimit } from "@merlon/wire/limits"

export class FetchSlots {
  readonly #all: ConcurrencyLimit
  readonly #suspects: ConcurrencyLimit

  constructor(atOnce: number) {
    this.#all = new ConcurrencyLimit({ atOnce })
    this.#suspects = new ConcurrencyLimit({ atOnce: Math.max(1, Math.floor(atOnce / 2)) })
  }

  /** Calls `start` when there is a slot. Returns what frees the slot, or stops waiting for one. */
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
