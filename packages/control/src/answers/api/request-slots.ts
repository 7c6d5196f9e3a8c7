// SPDX-License-Identifier: Apache-2.0
// How many requests are answered at once, in all and of each user. Where all slots are taken, the user with most loses its
// oldest request to a user that has fewer: a few users cannot keep others out, however long their requests last.

import { FairPool } from "@merlon/wire/limits"

interface Slot {
  /** The slot is another user's now. */
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

  /** Returns what frees the slot, once however often it is called; undefined where there is none. */
  enter(user: string, end: () => void): (() => void) | undefined {
    const own = this.#taken.held(user)
    if (own >= this.#each || (this.#taken.amount >= this.#all && !this.#makeRoom(own))) return undefined
    const slot: Slot = { end }
    this.#taken.add(user, slot)
    return () => void this.#taken.remove(user, slot)
  }

  /** For a user that has `own`: it must not end up with as many as the user that loses one had. */
  #makeRoom(own: number): boolean {
    const most = this.#taken.heaviest()
    const oldest = most?.oldest
    if (most === undefined || oldest === undefined || most.amount <= own + 1) return false
    this.#taken.remove(most.owner, oldest)
    oldest.end()
    return true
  }
}
