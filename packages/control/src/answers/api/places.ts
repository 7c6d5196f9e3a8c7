// SPDX-License-Identifier: Apache-2.0
// So many at once in all, and so many of each user. Where all are taken, whoever has most gives one to who has fewer: no few
// users keep others out, however long they stay.

interface Place {
  /** Tells whoever has it that it is another's now. */
  readonly end: () => void
}

export class Places {
  readonly #all: number
  readonly #each: number
  /** Of each user, the oldest first. */
  readonly #taken = new Map<string, Set<Place>>()
  #count = 0

  constructor(all: number, each: number) {
    this.#all = all
    this.#each = each
  }

  /** How to leave again, as often as one likes; undefined where there is no place. */
  enter(user: string, end: () => void): (() => void) | undefined {
    const own = this.#taken.get(user)?.size ?? 0
    if (own >= this.#each || (this.#count >= this.#all && !this.#makeRoom(own))) return undefined
    const place: Place = { end }
    this.#count += 1
    const places = this.#taken.get(user) ?? new Set()
    this.#taken.set(user, places.add(place))
    return () => this.#leave(user, place)
  }

  /** For somebody who has so many; never so that they would have as many as were too many before. */
  #makeRoom(own: number): boolean {
    let [most, user, oldest]: [number, string, Place | undefined] = [own + 1, "", undefined]
    for (const [other, places] of this.#taken) {
      if (places.size > most) [most, user, oldest] = [places.size, other, places.values().next().value]
    }
    if (oldest === undefined) return false
    this.#leave(user, oldest)
    oldest.end()
    return true
  }

  #leave(user: string, place: Place): void {
    const places = this.#taken.get(user)
    if (places?.delete(place) !== true) return
    this.#count -= 1
    if (places.size === 0) this.#taken.delete(user)
  }
}
