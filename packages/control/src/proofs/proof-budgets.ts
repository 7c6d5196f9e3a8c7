// SPDX-License-Identifier: Apache-2.0
// How much of the proof thread's time each namespace may use, in milliseconds; the thread answers one query at a time. A
// namespace that applies policies endlessly soon gets "not decided" at once, which leaves the thread to the others.

import { TokenBuckets } from "@merlon/wire/limits"

/** How long a client that applies a policy waits for proofs, at most, unless the operator configures another limit. */
export const PROOF_BUDGET_MS = 300
/** Milliseconds of each second that one namespace may take in the long run. */
const PER_SECOND = 100

/** `burst`: milliseconds at once. */
export function proofBudgets(burst: number): TokenBuckets {
  return new TokenBuckets(burst, PER_SECOND)
}
