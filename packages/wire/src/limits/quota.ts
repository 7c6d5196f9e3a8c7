// SPDX-License-Identifier: Apache-2.0
// An amount that owners share: connections, slots of a queue, bytes. One owner may hold a fixed amount at most
// (`each`), or its share (`sharePercent`): it may take more while it holds less than a fixed multiple of what is still
// free. A single owner gets up to its share; two greedy owners get a third each where one would get half. However much
// some want, something stays free for the next, as when switches share buffers (Choudhury and Hahne, 1998). A reserve
// may be kept for the system. Owners that hold nothing are not remembered.

export interface QuotaBounds {
  readonly all: number
  readonly each?: number
  /** In percent of `all`, while no other owner holds any; 100 means no shares. */
  readonly sharePercent?: number
  /** The part of `all` that is reserved for the system. */
  readonly kept?: number
}

export class Quota {
  #all: number
  readonly #each: number
  readonly #multiple: number
  readonly #kept: number
  readonly #held = new Map<string, number>()
  #used = 0

  constructor({ all, each = Number.POSITIVE_INFINITY, sharePercent = 100, kept = 0 }: QuotaBounds) {
    this.#all = all
    this.#each = each
    this.#multiple = sharePercent >= 100 ? Number.POSITIVE_INFINITY : sharePercent / (100 - sharePercent)
    this.#kept = kept
  }

  /** Owners that hold more than the new limit keep what they hold. */
  resize(all: number): void {
    this.#all = all
  }

  get used(): number {
    return this.#used
  }

  get isFull(): boolean {
    return this.#used >= this.#all
  }

  /** Number of owners that hold something. */
  get owners(): number {
    return this.#held.size
  }

  held(owner: string): number {
    return this.#held.get(owner) ?? 0
  }

  /** `system`: may use the reserve, and has no limit per owner. */
  mayTake(owner: string, amount = 1, system = false): boolean {
    const free = this.#all - this.#used
    if (system) return amount <= free
    const after = this.held(owner) + amount
    if (amount > free - this.#kept || after > this.#each) return false
    return this.#multiple === Number.POSITIVE_INFINITY || after - 1 < this.#multiple * free
  }

  /** False, with nothing taken, if that would exceed a limit. What was taken must be released. */
  take(owner: string, amount = 1, system = false): boolean {
    if (!this.mayTake(owner, amount, system)) return false
    this.add(owner, amount)
    return true
  }

  /** Takes without checking the limits. */
  add(owner: string, amount = 1): void {
    this.#held.set(owner, this.held(owner) + amount)
    this.#used += amount
  }

  release(owner: string, amount = 1): void {
    const held = this.held(owner)
    // INVARIANT: only what was taken is released. If that is ever violated, no owner gets more than there is.
    const released = Math.min(amount, held)
    if (released < held) this.#held.set(owner, held - released)
    else this.#held.delete(owner)
    this.#used -= released
  }
}
