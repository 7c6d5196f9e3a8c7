// SPDX-License-Identifier: Apache-2.0
// The line before the door. After a restart all proxies come at once, and if all shook hands at once, none would be through
// before it loses patience. So each turn of the event loop lets in a few: as many as the processor can bear, whichever that
// is. Whoever does not go on with its handshake holds nobody up. Addresses take turns, so that one with thousands of
// connections delays the others by one at a time.

/** So few that those within get on, so many that a turn is not spent on its bookkeeping. */
const PER_TURN = 8

export class Admission<T> {
  /** By address, in the order of their turns; within one, in the order of their coming. */
  readonly #lines = new Map<string, T[]>()
  readonly #letIn: (waiting: T) => void
  readonly #soon: (run: () => void) => void
  #scheduled = false

  constructor(letIn: (waiting: T) => void, soon: (run: () => void) => void = setImmediate) {
    this.#letIn = letIn
    this.#soon = soon
  }

  add(address: string, waiting: T): void {
    const line = this.#lines.get(address)
    if (line === undefined) this.#lines.set(address, [waiting])
    else line.push(waiting)
    this.#schedule()
  }

  /** Who waited, and waits no more. */
  clear(): readonly T[] {
    const all = [...this.#lines.values()].flat()
    this.#lines.clear()
    return all
  }

  #schedule(): void {
    if (this.#scheduled || this.#lines.size === 0) return
    this.#scheduled = true
    this.#soon(() => {
      this.#scheduled = false
      for (let left = PER_TURN; left > 0; left--) this.#next()
      this.#schedule()
    })
  }

  #next(): void {
    for (const [address, line] of this.#lines) {
      const waiting = line.shift()
      this.#lines.delete(address)
      if (line.length > 0) this.#lines.set(address, line)
      if (waiting !== undefined) this.#letIn(waiting)
      return
    }
  }
}
