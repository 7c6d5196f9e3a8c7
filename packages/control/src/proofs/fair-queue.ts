// SPDX-License-Identifier: Apache-2.0
// Who is next: namespaces take turns, whatever each of them has waiting. One of them may go before all others.

export interface Queued {
  readonly namespace: string
}

export class FairQueue<T extends Queued> {
  readonly #first: string
  /** INVARIANT: no list is empty; the namespace whose turn it is comes first. */
  readonly #waiting = new Map<string, T[]>()

  constructor(first: string) {
    this.#first = first
  }

  add(one: T): void {
    const others = this.#waiting.get(one.namespace)
    if (others === undefined) this.#waiting.set(one.namespace, [one])
    else others.push(one)
  }

  next(): T | undefined {
    const [turn] = this.#waiting.has(this.#first) ? [this.#first] : this.#waiting.keys()
    const list = turn === undefined ? undefined : this.#waiting.get(turn)
    if (turn === undefined || list === undefined) return undefined
    const [one, ...others] = list
    this.#waiting.delete(turn)
    if (others.length > 0) this.#waiting.set(turn, others)
    return one
  }

  remove(one: T): void {
    const left = this.#waiting.get(one.namespace)?.filter(other => other !== one)
    if (left === undefined) return
    if (left.length > 0) this.#waiting.set(one.namespace, left)
    else this.#waiting.delete(one.namespace)
  }

  /** Whether anybody but this namespace waits. */
  hasOthers(namespace: string): boolean {
    return this.#waiting.size > (this.#waiting.has(namespace) ? 1 : 0)
  }
}
