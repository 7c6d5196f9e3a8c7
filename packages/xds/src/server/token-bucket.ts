// SPDX-License-Identifier: Apache-2.0
// A measure of how much a client may ask: so many at once, so many more each second.

export class TokenBucket {
  #left: number
  #at: number

  constructor(
    readonly burst: number,
    readonly perSecond: number,
    now: number,
  ) {
    this.#left = burst
    this.#at = now
  }

  /** Milliseconds; a clock that goes back gives nothing and takes nothing. */
  take(now: number): boolean {
    const passed = Math.max(0, now - this.#at)
    this.#at = Math.max(this.#at, now)
    this.#left = Math.min(this.burst, this.#left + (passed * this.perSecond) / 1000)
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
