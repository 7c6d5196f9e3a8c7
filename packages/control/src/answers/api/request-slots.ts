// SPDX-License-Identifier: Apache-2.0
// Limits how many requests are answered at once, in total and per user. If all slots are taken, the user with the most
// loses its oldest request to a user that has fewer: a few users cannot keep others out, however long their requests
// last.

import { FairPool } from "@merlon/wire/limits"

interface Slot {
  /** Called when the slot is given to another user. */
  readonly end: () => void
}

export class RequestSlots {
  readonly #all: number
  readonly #each: number
  readonly #taken = new FairPool<Slot>()

  constructor(all: number, each: number) {
    this.#all = all
    this.#each = each
  }

  /** Returns a function that frees the slot, which may be called repeatedly; undefined if there is no slot. */
  enter(user: string, end: () => void): (() => void) | undefined {
    const own = this.#taken.held(user)
    if (own >= this.#each || (this.#taken.amount >= this.#all && !this.#makeRoom(own))) return undefined
    const slot: Slot = { end }
    this.#taken.add(user, slot)
    return () => void this.#taken.remove(user, slot)
  }

  /** Frees a slot for a user with `own` slots, unless it would then have as many as the losing user had. */
  #makeRoom(own: number): boolean {
    const most = this.#taken.heaviest()
    const oldest = most?.oldest
    if (most === undefined || oldest === undefined || most.amount <= own + 1) return false
    this.#taken.remove(most.owner, oldest)
    oldest.end()
    return true
  }
}
