// SPDX-License-Identifier: Apache-2.0
// Facts about the authority for metrics and status: when credentials expire, and the results of signing requests.

import type { RotationPhase } from "@merlon/identity"

const SIGNING_OUTCOMES = ["signed", "bad-request", "bad-ttl", "revoked", "foreign", "unavailable"] as const
export type SigningOutcome = (typeof SIGNING_OUTCOMES)[number]

/** Dates are milliseconds since the epoch. */
export interface AuthorityFacts {
  readonly rootNotAfter: number
  readonly signerNotAfter: number
  /** Expiry by listener. */
  readonly servingNotAfter: ReadonlyMap<string, number>
  readonly requests: Readonly<Record<SigningOutcome, number>>
  readonly phase: RotationPhase
  /** Fingerprint of the root that signs. */
  readonly signer: string
  /** Number of changes of the Secret or the supplied authority that were rejected. */
  readonly rejectedChanges: number
  readonly revokedIdentities: number
  readonly revokedSerials: number
  /** Number of lines in the revocations that cannot be read. */
  readonly revocationErrors: number
}

export class SigningCounter {
  readonly #counts = new Map<SigningOutcome, number>(SIGNING_OUTCOMES.map(outcome => [outcome, 0]))

  count(outcome: SigningOutcome): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1)
  }

  get counts(): Readonly<Record<SigningOutcome, number>> {
    // The constructor fills it with every outcome.
    return Object.fromEntries(this.#counts) as Record<SigningOutcome, number>
  }
}
