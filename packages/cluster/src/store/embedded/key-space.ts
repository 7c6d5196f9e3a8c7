// SPDX-License-Identifier: Apache-2.0
// The newest version of every key, sorted in memory, so that reads never access the disk. Lookups use binary search; a
// prefix is a contiguous range.

import { compareKeys } from "../key-order.js"
import type { Entry } from "../store.js"

export class KeySpace {
  readonly #entries = new Map<string, Entry>()
  #keys: string[] = []

  /** Called while loading, with sorted keys. */
  load(entry: Entry): void {
    this.#keys.push(entry.key)
    this.#entries.set(entry.key, entry)
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key)
  }

  put(entry: Entry): void {
    if (!this.#entries.has(entry.key)) this.#keys.splice(this.#lowerBound(entry.key), 0, entry.key)
    this.#entries.set(entry.key, entry)
  }

  delete(key: string): void {
    if (this.#entries.delete(key)) this.#keys.splice(this.#lowerBound(key), 1)
  }

  range(prefix: string): Entry[] {
    const out: Entry[] = []
    for (let i = this.#lowerBound(prefix); i < this.#keys.length; i++) {
      const key = this.#keys[i] ?? ""
      if (!key.startsWith(prefix)) break
      const entry = this.#entries.get(key)
      if (entry !== undefined) out.push(entry)
    }
    return out
  }

  #lowerBound(key: string): number {
    let low = 0
    let high = this.#keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareKeys(this.#keys[middle] ?? "", key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
