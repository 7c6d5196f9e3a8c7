// SPDX-License-Identifier: Apache-2.0
// How much of the event loop's time proofs may take, for each namespace apart: while one is searched for, nobody else is
// answered. A namespace that applies without end soon gets "not decided" at once, and an operator's change elsewhere waits
// for one proof at most.

interface Bucket {
  left: number
  at: number
}

/** How long somebody who applies a policy waits for proofs, at most. */
export const PROOF_BUDGET_MS = 300
/** Of each second, what one namespace may take in the long run. */
const REFILL = 0.1
const MANY = 1_000

export class ProofShares {
  readonly #buckets = new Map<string, Bucket>()

  /** Milliseconds that a proof for this namespace may take now. */
  left(namespace: string, now: number): number {
    const bucket = this.#buckets.get(namespace)
    return bucket === undefined ? PROOF_BUDGET_MS : refilled(bucket, now)
  }

  spend(namespace: string, milliseconds: number, now: number): void {
    this.#buckets.set(namespace, { left: this.left(namespace, now) - milliseconds, at: now })
    if (this.#buckets.size > MANY) this.#forgetFull(now)
  }

  #forgetFull(now: number): void {
    for (const [namespace, bucket] of this.#buckets) {
      if (refilled(bucket, now) === PROOF_BUDGET_MS) this.#buckets.delete(namespace)
    }
  }
}

function refilled({ left, at }: Bucket, now: number): number {
  return Math.min(PROOF_BUDGET_MS, left + (now - at) * REFILL)
}
