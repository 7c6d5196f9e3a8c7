// SPDX-License-Identifier: Apache-2.0
// Caches the API server's token reviews for a minute: a proxy sends the same token on each of its streams and calls,
// and after an outage all proxies do at once. Keyed by digest, so that the cache contains no usable token. INVARIANT:
// no entry outlives a minute or the token's expiry, so that a deleted account or Pod is noticed; tokens that were not
// accepted are not cached.

import { createHash } from "node:crypto"
import type { Caller } from "@merlon/xds/server"

export interface RememberedReviewsOptions {
  /** Returns undefined for an invalid token. Throws if the review was not possible. */
  readonly review: (token: string) => Promise<Caller | undefined>
  /** Wall clock in milliseconds: decides when a token expires. */
  readonly now?: () => number
  /** Monotonic clock in milliseconds: measures the minute. */
  readonly elapsed?: () => number
}

interface Remembered {
  readonly caller: Caller
  readonly since: number
}

export const REMEMBERED_MS = 60_000
/** A mesh with more proxies than this sends more reviews. */
export const MOST_REMEMBERED = 20_000

export class RememberedReviews {
  readonly #review: RememberedReviewsOptions["review"]
  readonly #now: () => number
  readonly #elapsed: () => number
  /** Accepted tokens by digest, oldest first. */
  readonly #good = new Map<string, Remembered>()
  /** Reviews in progress: concurrent streams with the same token share one. */
  readonly #pending = new Map<string, Promise<Caller | undefined>>()

  constructor({ review, now = Date.now, elapsed = () => performance.now() }: RememberedReviewsOptions) {
    this.#review = review
    this.#now = now
    this.#elapsed = elapsed
  }

  get size(): number {
    return this.#good.size
  }

  callerOf(token: string): Promise<Caller | undefined> {
    const digest = createHash("sha256").update(token).digest("base64url")
    this.#forgetOld()
    const known = this.#good.get(digest)?.caller
    if (known !== undefined && !this.#hasEnded(known)) return Promise.resolve(known)
    const pending = this.#pending.get(digest) ?? this.#query(digest, token)
    this.#pending.set(digest, pending)
    return pending
  }

  async #query(digest: string, token: string): Promise<Caller | undefined> {
    // Taken before the query: the answer may describe any moment since then.
    const since = this.#elapsed()
    try {
      const caller = await this.#review(token)
      if (caller !== undefined && isLasting(caller)) this.#remember(digest, { caller, since })
      return caller
    } finally {
      this.#pending.delete(digest)
    }
  }

  #remember(digest: string, remembered: Remembered): void {
    // Moves it to the end of the map, whose order is by age.
    this.#good.delete(digest)
    this.#good.set(digest, remembered)
    if (this.#good.size <= MOST_REMEMBERED) return
    for (const oldest of this.#good.keys()) {
      this.#good.delete(oldest)
      return
    }
  }

  #forgetOld(): void {
    const elapsed = this.#elapsed()
    for (const [digest, { since }] of this.#good) {
      if (elapsed - since < REMEMBERED_MS) return
      this.#good.delete(digest)
    }
  }

  #hasEnded({ expiresAt }: Caller): boolean {
    return expiresAt !== undefined && expiresAt <= this.#now()
  }
}

/** An invitation can be used only once, so every use is reviewed again. */
function isLasting({ invitation }: Caller): boolean {
  return invitation === undefined
}
