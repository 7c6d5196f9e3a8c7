// SPDX-License-Identifier: Apache-2.0
// A token bucket: `burst` at once, `perSecond` more each second. Work that was worth doing gives tokens back (`credit`):
// honest peers cancel and ping too, in proportion to what they ask.

export class TokenBucket {
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

  /** False, and nothing is taken, where fewer are left. */
  take(nowMs: number, amount = 1): boolean {
    if (this.left(nowMs) < amount) return false
    this.#left -= amount
    return true
  }

  /** Takes what was used already, also below zero: the next tokens pay for it. */
  spend(nowMs: number, amount: number): void {
    this.#left = this.left(nowMs) - amount
  }

  credit(amount: number): void {
    this.#left = Math.min(this.#burst, this.#left + amount)
  }

  left(nowMs: number): number {
    // A clock that goes back adds no tokens and removes none.
    const passed = Math.max(0, nowMs - this.#at)
    this.#at = Math.max(this.#at, nowMs)
    this.#left = Math.min(this.#burst, this.#left + (passed * this.#perSecond) / 1_000)
    return this.#left
  }

  isFull(nowMs: number): boolean {
    return this.left(nowMs) >= this.#burst
  }
}
