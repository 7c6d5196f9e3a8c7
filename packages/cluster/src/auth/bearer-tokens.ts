// SPDX-License-Identifier: Apache-2.0
//
// Every kind of bearer token: an issuer's where one is configured and the token says it is of it, else the cluster's own.
// Each is looked at by one alone, so a fault in one cannot be made good by the other.

import type { OidcTokens } from "./oidc.js"
import type { TokenChecker, TokenResult } from "./tokens.js"

export class BearerTokens implements TokenChecker {
  constructor(
    readonly own: TokenChecker,
    readonly oidc: OidcTokens | undefined,
  ) {}

  check(token: string, audiences: readonly string[]): Promise<TokenResult> {
    return (this.oidc?.claims(token) ? this.oidc : this.own).check(token, audiences)
  }
}
