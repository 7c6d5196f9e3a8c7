// SPDX-License-Identifier: Apache-2.0
// Parses a signed token in compact form (RFC 7515 section 7.1) without verifying it: format, algorithm and claim types
// only. Three non-empty sections, canonical base64url, JSON objects. Exact padding is tolerated in the header, as in
// Envoy, and nowhere else. `typ` and `cty` are ignored. A token with `crit` is rejected, because we support no extension;
// Istio's proxy ignores it.
// The length is bounded before anything is decoded.

import type { Dialect } from "../mesh/config.js"
import type { Claim } from "../request/attributes.js"
import { findAlgorithm } from "./algorithms.js"
import { scrubAudience } from "./audience.js"
import { decodeBase64url, decodePaddedBase64url, isBase64url } from "./base64url.js"
import { quoteInexactNumbers } from "./exact-numbers.js"
import { decodeText, type JsonObject, parseJsonObject, parseJsonText } from "./json-object.js"
import type { Signed } from "./signature.js"
import type { TokenError } from "./token-errors.js"

export interface Token extends Signed {
  /** The middle section exactly as sent. */
  readonly payload: string
  /** Numbers that a double cannot represent are texts. */
  readonly claims: JsonObject
  readonly issuer: string | undefined
  readonly subject: string | undefined
  /** Seconds since the epoch; absent if the token has none. */
  readonly issuedAt: number | undefined
  readonly notBefore: number | undefined
  /** Also absent if it is 0, which means "never" in the tokens of some issuers. */
  readonly expiresAt: number | undefined
  /** Scrubbed for comparison. */
  readonly audiences: readonly string[]
}

export const MAX_TOKEN_CHARACTERS = 64 * 1024
const TWO_TO_64 = 2 ** 64

/** The parsed token, or the first error in the order of the sections. */
export function parseToken(text: string, dialect?: Dialect): Token | TokenError {
  if (text.length > MAX_TOKEN_CHARACTERS) return "JwtBadFormat"
  const first = text.indexOf(".")
  const second = text.indexOf(".", first + 1)
  // This also rejects the five sections of an encrypted token, and an unsecured token, whose last section is empty.
  if (first < 1 || second < first + 2 || second === text.length - 1 || text.includes(".", second + 1)) {
    return "JwtBadFormat"
  }

  const headerBytes = decodePaddedBase64url(text.slice(0, first))
  if (headerBytes === undefined) return "JwtHeaderBadBase64"
  const header = parseJsonObject(headerBytes)
  if (header === undefined) return "JwtHeaderBadJson"
  if (typeof header.alg !== "string") return "JwtHeaderBadAlg"
  const algorithm = findAlgorithm(header.alg)
  if (algorithm === undefined) return "JwtHeaderAlgNotSupported"
  const kid = header.kid ?? ""
  if (typeof kid !== "string" || header.kid === null) return "JwtHeaderBadKid"
  // RFC 7515 section 4.1.11; an empty or malformed list is rejected too. RFC 7797 section 6: `b64: false` must be
  // listed in `crit`, and without that, implementations disagree about the payload.
  if (dialect !== "istio" && (header.crit !== undefined || header.b64 === false)) return "JwtHeaderCritNotSupported"

  const payload = text.slice(first + 1, second)
  const payloadBytes = decodeBase64url(payload)
  if (payloadBytes === undefined) return "JwtPayloadBadBase64"
  const json = decodeText(payloadBytes)
  const claims = json === undefined ? undefined : parseJsonText(json)
  if (claims === undefined) return "JwtPayloadBadJson"
  const error = checkTypes(claims)
  if (error !== undefined) return error
  const quoted = json && quoteInexactNumbers(json)

  const signature = text.slice(second + 1)
  if (!isBase64url(signature)) return "JwtSignatureBadBase64"

  return {
    algorithm,
    kid,
    signingInput: text.slice(0, second),
    signature,
    payload,
    claims: quoted === undefined ? claims : (parseJsonText(quoted) ?? claims),
    issuer: stringOf(claims.iss),
    subject: stringOf(claims.sub),
    issuedAt: numberOf(claims.iat),
    notBefore: numberOf(claims.nbf),
    expiresAt: numberOf(claims.exp) || undefined,
    audiences: audiencesOf(claims.aud).map(scrubAudience),
  }
}

function checkTypes({ iss, sub, iat, nbf, exp, jti, aud }: JsonObject): TokenError | undefined {
  if (iss !== undefined && typeof iss !== "string") return "JwtIssNotString"
  if (sub !== undefined && typeof sub !== "string") return "JwtSubNotString"
  if (iat !== undefined && typeof iat !== "number") return "JwtIatNotInteger"
  if (iat !== undefined && !isDate(iat)) return "JwtIatOutOfRange"
  if (nbf !== undefined && typeof nbf !== "number") return "JwtNbfNotInteger"
  if (nbf !== undefined && !isDate(nbf)) return "JwtNbfOutOfRange"
  if (exp !== undefined && typeof exp !== "number") return "JwtExpNotInteger"
  if (exp !== undefined && !isDate(exp)) return "JwtExpOutOfRange"
  if (jti !== undefined && typeof jti !== "string") return "JwtJtiNotString"
  if (aud === undefined || typeof aud === "string") return undefined
  if (Array.isArray(aud) && aud.every(item => typeof item === "string")) return undefined
  return "JwtAudNotStringOrList"
}

// RFC 7519 section 2 allows a fraction in a NumericDate. A literal such as 1e999 parses as infinity and is rejected
// here.
function isDate(value: number): boolean {
  return value >= 0 && value < TWO_TO_64
}

function stringOf(claim: Claim | undefined): string | undefined {
  return typeof claim === "string" ? claim : undefined
}

function numberOf(claim: Claim | undefined): number | undefined {
  return typeof claim === "number" ? claim : undefined
}

function audiencesOf(claim: Claim | undefined): readonly string[] {
  if (typeof claim === "string") return [claim]
  return Array.isArray(claim) ? claim.filter(item => typeof item === "string") : []
}
