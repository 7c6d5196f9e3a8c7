// SPDX-License-Identifier: Apache-2.0
// Judges the tokens of a request as Istio's proxy does, for policies that are written for Istio. It is Envoy's filter
// `jwt_authn` with the requirement that Istio configures: `P1 or … or Pn or ((P1 or missing) and … and (Pn or missing))`.
//  - Headers that some rule writes are removed first, and tokens in them are not found.
//  - The first rule that accepts the tokens it finds decides, and no later rule looks at any. Where none does, the request
//    passes if no rule found a token.
//  - A rule accepts if EVERY token that it finds is valid. They are checked from the last collected to the first, and the
//    identity comes from the first collected.
//  - A token's claims are checked before its signature, and `iat` is not looked at.
//  - A header that carries an accepted token is removed as a whole, with what was written to it; a cookie never is.

import { claimAt, headerValue } from "./claim-header.js"
import { checkConditions, isIssuerOf } from "./conditions.js"
import { NO_EDITS, type RequestEdits, removalOf } from "./edits.js"
import type { Evaluation } from "./evaluate.js"
import type { Found, TokenRequest } from "./finder.js"
import type { TokenRules } from "./program.js"
import { withoutParameters } from "./query.js"
import { readToken, TokenReading } from "./reading.js"
import type { TokenRule } from "./rule.js"
import type { Token } from "./token.js"
import type { TokenError } from "./token-errors.js"
import type { ViewProfile } from "./view.js"

const NONE: readonly never[] = Object.freeze([])

export function evaluateAsIstio(
  { rules, finder, outputs }: TokenRules,
  request: TokenRequest,
  now: number,
): Evaluation {
  const { spots, bySlot } = finder.find(request)
  const rejections: Rejection[] = []
  for (const rule of rules) {
    const found = rule.slots.flatMap(slot => bySlot[slot] ?? [])
    if (found.length === 0) continue
    const accepted = acceptedBy(rule, found, now)
    if (typeof accepted === "string") rejections.push({ rule, error: accepted })
    else {
      const view = accepted.at(-1)?.reading.view(rule.profile)
      const edits = editsOf(rule, accepted, outputs, request)
      return { spots, error: undefined, by: rule, view, unknownKeys: NONE, edits }
    }
  }
  // Every error other than an unknown issuer replaces the errors before it, except the first.
  const [first] = rejections
  const mostSpecific = rejections.findLast(({ error }) => error !== "JwtUnknownIssuer")
  const chosen = first?.error === "JwtUnknownIssuer" ? (mostSpecific ?? first) : first
  const edits = removalOf(...outputs)
  return { spots, error: chosen?.error, by: chosen?.rule, view: undefined, unknownKeys: NONE, edits }
}

interface Rejection {
  readonly rule: TokenRule
  readonly error: TokenError
}

interface Accepted {
  readonly found: Found
  readonly reading: TokenReading
}

/** The tokens in the order in which they were checked, or the first error. */
function acceptedBy(rule: TokenRule, found: readonly Found[], now: number): readonly Accepted[] | TokenError {
  const accepted: Accepted[] = []
  for (const one of found.toReversed()) {
    one.reading ??= readToken(sectionsOf(one.text), "istio")
    const reading = one.reading
    if (!(reading instanceof TokenReading)) return reading
    const error = errorOf(rule, reading, now)
    if (error !== undefined) return error
    accepted.push({ found: one, reading })
  }
  return accepted
}

/** Empty sections are ignored, and the signature is checked without them. */
function sectionsOf(text: string): string {
  const sections = text.split(".").filter(section => section !== "")
  return sections.length === 3 ? sections.join(".") : ""
}

function errorOf(rule: TokenRule, reading: TokenReading, now: number): TokenError | undefined {
  const { token } = reading
  if (!isIssuerOf(rule, token)) return "JwtUnknownIssuer"
  const unfit = checkConditions(rule, { ...token, issuedAt: undefined }, now)
  if (unfit !== undefined) return unfit
  return typeof rule.keys === "string" ? rule.keys : reading.signatureError(rule.keys)
}

function editsOf(
  { profile, forward }: TokenRule,
  accepted: readonly Accepted[],
  outputs: readonly string[],
  { target }: TokenRequest,
): RequestEdits {
  const removed = new Set(outputs)
  const params = new Set<string>()
  let written: RequestEdits["setHeaders"] = []
  for (const { found, reading } of accepted) {
    const { kind, name } = found.spot
    written = [...written, ...linesOf(reading.token, profile)]
    if (forward || kind === "cookie") continue
    if (kind === "param") params.add(name)
    else {
      removed.add(name)
      written = written.filter(([header]) => header !== name)
    }
  }
  const left = withoutParameters(target, params, new Set())
  return {
    ...NO_EDITS,
    removeHeaders: [...removed],
    setHeaders: written,
    target: left === target ? undefined : left,
  }
}

function linesOf({ payload, claims }: Token, { payloadHeader, claimHeaders }: ViewProfile): RequestEdits["setHeaders"] {
  const lines = claimHeaders.flatMap(({ header, path }) => {
    const value = headerValue(claimAt(claims, path))
    return value === undefined ? [] : [[header, value] as const]
  })
  return payloadHeader === "" ? lines : [[payloadHeader, payload], ...lines]
}
