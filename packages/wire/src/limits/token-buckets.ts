// SPDX-License-Identifier: Apache-2.0
// A token bucket for each key, such as a caller over all of its connections: a client that has used up its tokens gains
// nothing by connecting again. The number of keys is bounded; a full bucket need not be remembered.

import { TokenBucket } from "./token-bucket.js"

const MAX_KEYS = 10_000
/** How much stays when there are too many, so that not every new key makes us look for room. */
const KEPT = 0.9

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
