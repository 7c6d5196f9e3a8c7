// SPDX-License-Identifier: Apache-2.0
// A token bucket: `burst` at once, then `perSecond` more each second. Useful work returns tokens (`credit`), because
// honest peers cancel and ping too, in proportion to their requests.

const MAX_KEYS = 10_000
/** The share that is kept when there are too many keys, so that not every new key triggers a cleanup. */
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

  /** False, with nothing taken, if fewer tokens are left. */
  take(nowMs: number, amount = 1): boolean {
    if (this.left(nowMs) < amount) return false
    this.#left -= amount
    return true
  }

  /** Takes tokens for work that is done already, even below zero: later tokens pay for it. */
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
 * A token bucket per key, for example per caller over all of its connections: a client that has used up its tokens
 * gains nothing by reconnecting. The number of keys is limited; a full bucket need not be remembered.
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

  /** Removes full buckets; if that is not enough, the oldest. */
  #forget(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) if (bucket.isFull(nowMs)) this.#buckets.delete(key)
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size < MAX_KEYS * KEPT) return
      this.#buckets.delete(key)
    }
  }
}
