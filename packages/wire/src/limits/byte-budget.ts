// SPDX-License-Identifier: Apache-2.0
// One budget for the bytes of all connections that are held before a decision. A connection within its own limits may
// still be one of thousands. If all together hold too much, those that have held most for longest are evicted, so that
// new ones and those that send little are served.

export interface ByteHolder {
  /** Maintained by the budget. */
  heldBytes: number
  /** Maintained by the budget: since when it has held bytes. */
  heldSince: number
  /** Must release all held bytes and close. */
  evict(): void
}

/** This share of the budget is freed at once, because finding a connection to close means looking at all of them. */
const FREED_SHARE = 1 / 8

export class ByteBudget {
  readonly #limit: number
  readonly #now: () => number
  readonly #holders = new Set<ByteHolder>()
  #used = 0

  /** `now` is in milliseconds, on any clock. */
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

  /** Must be called whenever the amount changes, with 0 when the holder holds nothing anymore. */
  setHeld(holder: ByteHolder, bytes: number): void {
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
    // Bytes times time measures what a holder has cost the others so far.
    const cost = ({ heldBytes, heldSince }: ByteHolder): number => heldBytes * (1 + now - heldSince)
    const byCost = [...this.#holders].map(holder => ({ holder, cost: cost(holder) })).sort((a, b) => b.cost - a.cost)
    for (const { holder } of byCost) {
      if (this.#used <= this.#limit * (1 - FREED_SHARE)) return
      this.setHeld(holder, 0)
      holder.evict()
    }
  }
}
