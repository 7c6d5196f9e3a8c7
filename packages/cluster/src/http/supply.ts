// SPDX-License-Identifier: Apache-2.0
//
// A supply that users share: places or bytes. Nobody takes more than their share, and what is kept stays for the
// system, so that neither one user nor all of them together can lock it out.

import type { Share } from "./share.js"

export interface Bounds {
  readonly all: number
  readonly each: number
  readonly kept: number
}

export class Supply {
  readonly #taken = new Map<string, number>()
  #used = 0

  constructor(readonly bounds: Bounds) {}

  get used(): number {
    return this.#used
  }

  /** Whether it was there; what was taken must be given back. */
  take({ owner, system }: Share, amount: number): boolean {
    const { all, each, kept } = this.bounds
    const own = (this.#taken.get(owner) ?? 0) + amount
    if (this.#used + amount > all - (system ? 0 : kept) || (!system && own > each)) return false
    this.#used += amount
    this.#taken.set(owner, own)
    return true
  }

  give({ owner }: Share, amount: number): void {
    const left = (this.#taken.get(owner) ?? 0) - amount
    this.#used -= amount
    if (left > 0) this.#taken.set(owner, left)
    else this.#taken.delete(owner)
  }
}
