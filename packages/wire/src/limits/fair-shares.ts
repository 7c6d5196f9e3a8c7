// SPDX-License-Identifier: Apache-2.0
// Who may take how much of something that there is only so much of: connections to the application, places in a queue.
// A caller may take another one while it holds less than a set multiple of what is still free. Alone it gets up to its
// share; two that want all get a third each where one would get a half; and however much some want, something stays free
// for the next who comes (as buffers are shared in switches: Choudhury and Hahne, 1998). Nobody keeps a list of callers:
// who holds nothing is not known.

export class FairShares {
  readonly #capacity: number
  readonly #multiple: number
  readonly #held = new Map<string, number>()
  #used = 0

  /** `percent`: what one caller gets at most while no other takes any; with 100 there are no shares. */
  constructor(capacity: number, percent: number) {
    this.#capacity = capacity
    this.#multiple = percent >= 100 ? Number.POSITIVE_INFINITY : percent / (100 - percent)
  }

  get used(): number {
    return this.#used
  }

  get isFull(): boolean {
    return this.#used >= this.#capacity
  }

  /** How many hold something. */
  get callers(): number {
    return this.#held.size
  }

  mayTake(caller: string): boolean {
    const free = this.#capacity - this.#used
    return free > 0 && (this.#held.get(caller) ?? 0) < this.#multiple * free
  }

  /** Without a look at shares: whoever takes has asked. */
  take(caller: string): void {
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + 1)
    this.#used++
  }

  release(caller: string): void {
    const held = this.#held.get(caller)
    // INVARIANT: who releases has taken. Should that ever be wrong, nobody gets more than there is.
    if (held === undefined) return
    if (held === 1) this.#held.delete(caller)
    else this.#held.set(caller, held - 1)
    this.#used--
  }
}
