// SPDX-License-Identifier: Apache-2.0
// A bounded set of observed calls. When it is full, the calls that were observed longest ago are dropped and counted, so
// that a reader knows when the set is not complete.

import { callKey, mergeCalls, type ObservedCall } from "./call.js"

export class CallSet {
  readonly #calls = new Map<string, ObservedCall>()
  readonly #maximum: number
  #forgotten = 0
  #forgottenUntil = Number.NEGATIVE_INFINITY

  constructor(maximum: number) {
    this.#maximum = maximum
  }

  get size(): number {
    return this.#calls.size
  }

  /** The number of shapes that were dropped for others. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** When the latest dropped shape was last seen: the set is complete only for later calls. */
  get forgottenUntil(): number {
    return this.#forgottenUntil
  }

  add(call: ObservedCall): void {
    const key = callKey(call)
    const known = this.#calls.get(key)
    this.#calls.set(key, known === undefined ? call : mergeCalls(known, call))
    if (this.#calls.size > this.#maximum) this.#forgetOldest()
  }

  values(): IterableIterator<ObservedCall> {
    return this.#calls.values()
  }

  // Drops a tenth at once: finding the oldest means visiting all of them, and a hostile caller may make every call a
  // new shape.
  #forgetOldest(): void {
    const oldestFirst = [...this.#calls].sort(([, a], [, b]) => a.lastSeen - b.lastSeen)
    const excess = Math.max(1, Math.floor(this.#maximum / 10))
    for (const [key, { lastSeen }] of oldestFirst.slice(0, excess)) {
      this.#calls.delete(key)
      this.#forgottenUntil = Math.max(this.#forgottenUntil, lastSeen)
    }
    this.#forgotten += excess
  }
}
