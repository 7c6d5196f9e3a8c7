// SPDX-License-Identifier: Apache-2.0
// What a rule derives from a token it accepts: the token as authorization sees it, and the headers the application gets.
// It depends only on the token and three fields of the rule, so it is computed once and shared. Everything in it is
// frozen.

import type { Claim, VerifiedToken } from "../request/attributes.js"
import { isWritableHeader } from "../resources/header-name.js"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { claimAt, headerValue } from "./claim-header.js"
import type { JsonObject } from "./json-object.js"
import type { Token } from "./token.js"

export interface TokenView {
  readonly verified: VerifiedToken
  readonly headers: readonly (readonly [name: string, value: string])[]
}

export interface ViewProfile {
  /** INVARIANT: profiles with equal ids give equal views of every token. */
  readonly id: string
  readonly delimited: ReadonlySet<string>
  /** In lower case; empty if there is none. */
  readonly payloadHeader: string
  readonly claimHeaders: readonly { readonly header: string; readonly path: readonly string[] }[]
}

export function viewProfile(rule: JwtRule): ViewProfile {
  const delimited = new Set(["scope", "permission", ...(rule.spaceDelimitedClaims ?? [])])
  const payloadName = rule.outputPayloadToHeader?.toLowerCase() ?? ""
  // Fail closed: validation rejects headers of HTTP itself and of the proxy. If one gets here anyway, it is not
  // written.
  const payloadHeader = isWritableHeader(payloadName) ? payloadName : ""
  const claimHeaders = (rule.outputClaimToHeaders ?? [])
    .map(({ header, claim }) => ({ header: header.toLowerCase(), path: claim.split(".") }))
    .filter(({ header }) => isWritableHeader(header))
  const id = JSON.stringify([[...delimited].sort(), payloadHeader, claimHeaders])
  return { id, delimited, payloadHeader, claimHeaders }
}

/** Every header the rule may write: values that callers send under these names are never trusted. */
export function outputHeaders({ payloadHeader, claimHeaders }: ViewProfile): readonly string[] {
  const names = claimHeaders.map(({ header }) => header)
  return payloadHeader === "" ? names : [payloadHeader, ...names]
}

export function viewOf(token: Token, profile: ViewProfile): TokenView {
  const { issuer, subject, claims } = token
  const verified: VerifiedToken = Object.freeze({
    issuer,
    subject,
    claims: splitDelimited(claims, profile.delimited),
  })
  return Object.freeze({ verified, headers: headersOf(token, profile) })
}

function splitDelimited(claims: JsonObject, delimited: ReadonlySet<string>): JsonObject {
  // Most tokens have nothing to split, and a view is kept as long as its token, so they share the claims if possible.
  if (![...delimited].some(name => typeof claims[name] === "string")) return claims
  const result: Record<string, Claim> = Object.create(null)
  for (const [name, claim] of Object.entries(claims)) {
    result[name] = typeof claim === "string" && delimited.has(name) ? partsOf(claim) : claim
  }
  return Object.freeze(result)
}

/** A blank text has no parts and stays unchanged. */
function partsOf(text: string): Claim {
  const parts = text.split(" ").filter(part => part !== "")
  return parts.length === 0 ? text : Object.freeze(parts)
}

/** One line for each header: if two claims are written to one header, the first counts. */
function headersOf({ payload, claims }: Token, { payloadHeader, claimHeaders }: ViewProfile): TokenView["headers"] {
  const headers = new Map<string, readonly [string, string]>()
  if (payloadHeader !== "") headers.set(payloadHeader, Object.freeze([payloadHeader, payload] as const))
  for (const { header, path } of claimHeaders) {
    const value = headers.has(header) ? undefined : headerValue(claimAt(claims, path))
    if (value !== undefined) headers.set(header, Object.freeze([header, value] as const))
  }
  return Object.freeze([...headers.values()])
}
