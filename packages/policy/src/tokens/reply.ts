// SPDX-License-Identifier: Apache-2.0
// The reply to a rejected token: the challenge, and the detail for the access log.

import type { TokenRequest } from "./finder.js"
import { type TokenError, tokenErrorText } from "./token-errors.js"

const MAX_PATH = 256

/** The value of `WWW-Authenticate` (RFC 6750 section 3): a missing token is not an error, so it gets no error code. */
export function challengeFor(error: TokenError, { scheme, host, target }: TokenRequest): string {
  const realm = quotable(`${scheme}://${host ?? ""}${target.slice(0, MAX_PATH)}`)
  return error === "JwtMissing" ? `Bearer realm="${realm}"` : `Bearer realm="${realm}", error="invalid_token"`
}

/** For the access log, in the notation of other proxies: `jwt_authn_access_denied{Jwt_is_expired}`. */
export function responseDetail(error: TokenError): string {
  return `jwt_authn_access_denied{${tokenErrorText(error).replaceAll(" ", "_")}}`
}

// RFC 9110 section 5.6.4: two characters are escaped in a quoted string; characters that could end the header line are
// dropped.
function quotable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "").replace(/["\\]/g, "\\$&")
}
