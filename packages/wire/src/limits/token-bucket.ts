// SPDX-License-Identifier: Apache-2.0
// A token bucket: `burst` at once, `perSecond` more each second. Work that was worth doing gives tokens back (`credit`):
// honest peers cancel and ping too, in proportion to what they ask.

const MAX_KEYS = 10_000
/** How much stays when there are too many, so that not every new key makes us look for room. */
const KEPT = 0.9

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

/**
 * A token bucket for each key, such as a caller over all of its connections: a client that has used up its tokens gains
 * nothing by connecting again. The number of keys is bounded; a full bucket need not be remembered.
 */
export class TokenBuckets {
  readonly #burst: number
  readonly #perSecond: number
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
  }

  of(key: string, nowMs: number): TokenBucket {
    const known = this.#buckets.get(key)
    if (known !== undefined) return known
    if (this.#buckets.size >= MAX_KEYS) this.#forget(nowMs)
    const bucket = new TokenBucket(this.#burst, this.#perSecond, nowMs)
    this.#buckets.set(key, bucket)
    return bucket
  }

  /** Full buckets; if none is full, those that have been here longest. */
  #forget(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) if (bucket.isFull(nowMs)) this.#buckets.delete(key)
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size < MAX_KEYS * KEPT) return
      this.#buckets.delete(key)
    }
  }
}
