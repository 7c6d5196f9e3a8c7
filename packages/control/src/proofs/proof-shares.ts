// SPDX-License-Identifier: Apache-2.0
// How much of the thread's time proofs may take, for each namespace apart: one question is answered at a time.
// A namespace that applies without end soon gets "not decided" at once, and leaves the thread to the others.

interface Bucket {
  left: number
  at: number
}

/** How long somebody who applies a policy waits for proofs, at most, unless the operator says otherwise. */
export const PROOF_BUDGET_MS = 300
/** Of each second, what one namespace may take in the long run. */
const REFILL = 0.1
const MANY = 1_000

export class ProofShares {
  readonly #buckets = new Map<string, Bucket>()
  readonly #most: number

  /** `most`: milliseconds at once. */
  constructor(most: number) {
    this.#most = most
  }

  /** Milliseconds that a proof for this namespace may take now. */
  left(namespace: string, now: number): number {
    const bucket = this.#buckets.get(namespace)
    return bucket === undefined ? this.#most : this.#refilled(bucket, now)
  }

  spend(namespace: string, milliseconds: number, now: number): void {
    this.#buckets.set(namespace, { left: this.left(namespace, now) - milliseconds, at: now })
    if (this.#buckets.size > MANY) this.#forgetFull(now)
  }

  #forgetFull(now: number): void {
    for (const [namespace, bucket] of this.#buckets) {
      if (this.#refilled(bucket, now) === this.#most) this.#buckets.delete(namespace)
    }
  }

  #refilled({ left, at }: Bucket, now: number): number {
    return Math.min(this.#most, left + (now - at) * REFILL)
  }
}
