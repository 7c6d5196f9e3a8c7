// SPDX-License-Identifier: Apache-2.0
// Authenticates bearer tokens. A token whose `iss` is the configured issuer is checked by that issuer's keys, every
// other token as one of the cluster. Each token is checked by exactly one authenticator, so one cannot accept what the
// other rejects.

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
