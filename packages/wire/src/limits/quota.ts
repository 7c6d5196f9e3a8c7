// SPDX-License-Identifier: Apache-2.0
// An amount that owners share: slots or bytes. No owner takes more than its quota, and a reserve stays for the system, so
// that neither one owner nor all of them together can lock it out.

export interface QuotaOwner {
  readonly owner: string
  /** May use the reserve, and has no quota of its own. */
  readonly system: boolean
}

export interface QuotaBounds {
  readonly all: number
  readonly each: number
  readonly kept: number
}

export class Quota {
  readonly #taken = new Map<string, number>()
  #used = 0

  constructor(readonly bounds: QuotaBounds) {}

  get used(): number {
    return this.#used
  }

  /** False, and nothing is taken, where that would be too much. What was taken must be given back. */
  take({ owner, system }: QuotaOwner, amount: number): boolean {
    const { all, each, kept } = this.bounds
    const own = (this.#taken.get(owner) ?? 0) + amount
    if (this.#used + amount > all - (system ? 0 : kept) || (!system && own > each)) return false
    this.#used += amount
    this.#taken.set(owner, own)
    return true
  }

  give({ owner }: Pick<QuotaOwner, "owner">, amount: number): void {
    const left = (this.#taken.get(owner) ?? 0) - amount
    this.#used -= amount
    if (left > 0) this.#taken.set(owner, left)
    else this.#taken.delete(owner)
  }
}
