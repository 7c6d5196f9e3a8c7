// SPDX-License-Identifier: Apache-2.0
// How much of something a peer may make us do for nothing. There is a store to draw from, which fills again with time and
// with work that was worth doing: honest peers cancel and ping too, in proportion to what they ask.

export class Budget {
  readonly #burst: number
  readonly #perSecond: number
  #left: number
  #at: number

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#left = burst
    this.#at = nowMs
  }

  /** False once it is used up. */
  take(amount: number, nowMs: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#at) / 1_000) * this.#perSecond)
    this.#at = nowMs
    if (this.#left < amount) return false
    this.#left -= amount
    return true
  }

  /** Something that was worth doing has been done. */
  earn(amount: number): void {
    this.#left = Math.min(this.#burst, this.#left + amount)
  }

  /** Whether it would be full by now: who has used nothing need not be remembered. */
  full(nowMs: number): boolean {
    return this.#left + ((nowMs - this.#at) / 1_000) * this.#perSecond >= this.#burst
  }
}
