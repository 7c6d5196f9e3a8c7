// SPDX-License-Identifier: Apache-2.0
// One budget for the bytes of all connections that are kept before anything is decided about them. A connection within its
// own limits may still be one of thousands. Where all together hold too much, those that have held most for longest are
// evicted, so that new ones and those that send little are served.

export interface ByteHolder {
  /** Kept by the budget. */
  heldBytes: number
  /** Kept by the budget: since when it has held something. */
  heldSince: number
  /** Must let go of all it holds, and end. */
  evict(): void
}

/** This share of the budget is freed at once, because finding a connection to close means looking at all of them. */
const FREED_SHARE = 1 / 8

export class ByteBudget {
  readonly #limit: number
  readonly #now: () => number
  readonly #holders = new Set<ByteHolder>()
  #used = 0

  /** `now` in milliseconds, on any clock. */
  constructor(limit: number, now: () => number = () => performance.now()) {
    this.#limit = limit
    this.#now = now
  }

  get used(): number {
    return this.#used
  }

  get holders(): number {
    return this.#holders.size
  }

  /** To be told whenever it changes; 0 where it holds nothing any more. */
  holds(holder: ByteHolder, bytes: number): void {
    if (bytes === holder.heldBytes) return
    if (holder.heldBytes === 0) {
      holder.heldSince = this.#now()
      this.#holders.add(holder)
    } else if (bytes === 0) {
      this.#holders.delete(holder)
    }
    this.#used += bytes - holder.heldBytes
    holder.heldBytes = bytes
    if (this.#used > this.#limit) this.#makeRoom()
  }

  #makeRoom(): void {
    const now = this.#now()
    // Bytes times time is what a holder has cost the others so far.
    const cost = ({ heldBytes, heldSince }: ByteHolder): number => heldBytes * (1 + now - heldSince)
    const byCost = [...this.#holders].map(holder => ({ holder, cost: cost(holder) })).sort((a, b) => b.cost - a.cost)
    for (const { holder } of byCost) {
      if (this.#used <= this.#limit * (1 - FREED_SHARE)) return
      this.holds(holder, 0)
      holder.evict()
    }
  }
}
