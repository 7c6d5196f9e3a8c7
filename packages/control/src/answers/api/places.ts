// SPDX-License-Identifier: Apache-2.0
// So many at once in all, and so many of each user.

export class Places {
  readonly #all: number
  readonly #each: number
  readonly #taken = new Map<string, number>()
  #count = 0

  constructor(all: number, each: number) {
    this.#all = all
    this.#each = each
  }

  /** How to leave again; undefined where there is no place. */
  enter(user: string): (() => void) | undefined {
    const taken = this.#taken.get(user) ?? 0
    if (this.#count >= this.#all || taken >= this.#each) return undefined
    this.#count += 1
    this.#taken.set(user, taken + 1)
    return () => {
      this.#count -= 1
      const left = (this.#taken.get(user) ?? 1) - 1
      if (left === 0) this.#taken.delete(user)
      else this.#taken.set(user, left)
    }
  }
}
