// SPDX-License-Identifier: Apache-2.0
// How many requests are answered at once, in all and of each user. Where all slots are taken, the user with most loses its
// oldest request to a user that has fewer: a few users cannot keep others out, however long their requests last.

interface Slot {
  /** The slot is another user's now. */
  readonly end: () => void
}

export class RequestSlots {
  readonly #all: number
  readonly #each: number
  /** Of each user, the oldest first. */
  readonly #taken = new Map<string, Set<Slot>>()
  #count = 0

  constructor(all: number, each: number) {
    this.#all = all
    this.#each = each
  }

  /** Returns what frees the slot, once however often it is called; undefined where there is none. */
  enter(user: string, end: () => void): (() => void) | undefined {
    const own = this.#taken.get(user)?.size ?? 0
    if (own >= this.#each || (this.#count >= this.#all && !this.#makeRoom(own))) return undefined
    const slot: Slot = { end }
    this.#count += 1
    const slots = this.#taken.get(user) ?? new Set()
    this.#taken.set(user, slots.add(slot))
    return () => this.#leave(user, slot)
  }

  /** For a user that has `own`: it must not end up with as many as the user that loses one had. */
  #makeRoom(own: number): boolean {
    let [most, user, oldest]: [number, string, Slot | undefined] = [own + 1, "", undefined]
    for (const [other, slots] of this.#taken) {
      if (slots.size > most) [most, user, oldest] = [slots.size, other, slots.values().next().value]
    }
    if (oldest === undefined) return false
    this.#leave(user, oldest)
    oldest.end()
    return true
  }

  #leave(user: string, slot: Slot): void {
    const slots = this.#taken.get(user)
    if (slots?.delete(slot) !== true) return
    this.#count -= 1
    if (slots.size === 0) this.#taken.delete(user)
  }
}
