// SPDX-License-Identifier: Apache-2.0
// Checks what a signature does not prove: that the token is meant for this rule, at this time. Checked on every use of a
// token, cached or not, because each condition can change while the signature stays valid. Order: issuer, time, audience.

import type { Token } from "./token.js"
import type { TokenError } from "./token-errors.js"

export interface TokenConditions {
  /** Undefined accepts every issuer that signs with the rule's keys. */
  readonly issuer: string | undefined
  /** Scrubbed; undefined accepts every audience, and none. */
  readonly audiences: ReadonlySet<string> | undefined
  readonly requireExpiration: boolean
}

export const CLOCK_SKEW_SECONDS = 60

/** Byte for byte (RFC 7519 section 4.1.1); a missing issuer never matches. */
export function isIssuerOf(rule: TokenConditions, token: Token): boolean {
  return rule.issuer === undefined || token.issuer === rule.issuer
}

/** The first condition that does not hold at `now` (seconds since the epoch); the issuer is checked before any key work. */
export function checkConditions(rule: TokenConditions, token: Token, now: number): TokenError | undefined {
  const { notBefore, issuedAt, expiresAt } = token
  // INVARIANT: each comparison is written so that a clock that is not a number rejects.
  if (notBefore !== undefined && !(now + CLOCK_SKEW_SECONDS >= notBefore)) return "JwtNotYetValid"
  if (issuedAt !== undefined && !(now + CLOCK_SKEW_SECONDS >= issuedAt)) return "JwtNotYetValid"
  if (expiresAt === undefined) {
    if (rule.requireExpiration) return "JwtExpRequired"
  } else if (!(now <= expiresAt + CLOCK_SKEW_SECONDS)) {
    return "JwtExpired"
  }
  return rule.audiences === undefined || isMeantFor(rule.audiences, token) ? undefined : "JwtAudienceNotAllowed"
}

function isMeantFor(allowed: ReadonlySet<string>, token: Token): boolean {
  for (const audience of token.audiences) if (allowed.has(audience)) return true
  return false
}
