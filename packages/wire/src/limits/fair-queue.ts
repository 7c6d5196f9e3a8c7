// SPDX-License-Identifier: Apache-2.0
// A queue in which keys take turns, however many items one of them has waiting. Items of one key keep their order. One
// key may take precedence over all others.

export class FairQueue<T> {
  readonly #first: string | undefined
  /** INVARIANT: no list is empty; the key whose turn it is comes first. */
  readonly #waiting = new Map<string, T[]>()

  constructor(first?: string) {
    this.#first = first
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  add(key: string, item: T): void {
    const others = this.#waiting.get(key)
    if (others === undefined) this.#waiting.set(key, [item])
    else others.push(item)
  }

  next(): T | undefined {
    const hasFirst = this.#first !== undefined && this.#waiting.has(this.#first)
    const key = hasFirst ? this.#first : this.#waiting.keys().next().value
    const items = key === undefined ? undefined : this.#waiting.get(key)
    if (key === undefined || items === undefined) return undefined
    const item = items.shift()
    this.#waiting.delete(key)
    if (items.length > 0) this.#waiting.set(key, items)
    return item
  }

  remove(key: string, item: T): void {
    const left = this.#waiting.get(key)?.filter(other => other !== item)
    if (left === undefined) return
    if (left.length > 0) this.#waiting.set(key, left)
    else this.#waiting.delete(key)
  }

  /** Whether an item of another key is waiting. */
  hasOthers(key: string): boolean {
    return this.#waiting.size > (this.#waiting.has(key) ? 1 : 0)
  }

  /** Removes and returns all items. */
  clear(): readonly T[] {
    const all = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    return all
  }
}
