// SPDX-License-Identifier: Apache-2.0
// Limits how many milliseconds of the proof thread each namespace may use; the thread answers one query at a time. A
// namespace that applies policies without pause soon gets "not decided" at once, which leaves the thread to the others.

import { TokenBuckets } from "@merlon/wire/limits"

/** Default for how long an apply waits for proofs, at most. */
export const PROOF_BUDGET_MS = 300
/** Milliseconds of each second that one namespace may use in the long run. */
const PER_SECOND = 100

/** `burst` is the number of milliseconds available at once. */
export function proofBudgets(burst: number): TokenBuckets {
  return new TokenBuckets(burst, PER_SECOND)
}
