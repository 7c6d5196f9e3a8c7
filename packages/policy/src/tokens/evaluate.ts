// SPDX-License-Identifier: Apache-2.0
// Judges all tokens of a request by all rules.
//  - EVERY token is judged on its own: it is valid if ANY rule that looks at its location accepts it, whatever the others
//    do. The request passes if all its tokens are valid, AND no rule with `presence: REQUIRED` finds none.
//  - The caller's identity comes from the first rule that accepts a token, and the first token it accepts.
//  - The reported error belongs to a token that no rule accepts. A rule's error is its first failing one, from the last
//    collected token to the first. Reported is that of the first failing rule, unless that is only an unknown issuer; then
//    that of the last rule that failed for another reason; then the unknown issuer. This equals Envoy's evaluation of
//    "P1 or … or Pn or all of them".
//  - A rule checks a token's issuer before its keys: a token of another rule's issuer costs no key work and does not
//    hide the error of the right rule. Then signature, time, audience.

import { checkConditions, isIssuerOf } from "./conditions.js"
import type { RequestEdits } from "./edits.js"
import type { Found, Spot, TokenRequest } from "./finder.js"
import type { TokenMemory } from "./memory.js"
import type { TokenRules } from "./program.js"
import { readToken, TokenReading } from "./reading.js"
import type { TokenRule } from "./rule.js"
import { isUnknownKid } from "./signature.js"
import type { TokenError } from "./token-errors.js"
import type { TokenView } from "./view.js"

export interface Evaluation {
  /** Undefined if the request passes. */
  readonly error: TokenError | undefined
  /** The rule that accepted the token, or the one whose error is reported. */
  readonly by: TokenRule | undefined
  /** The view that the first accepting rule has of the first token it accepts. */
  readonly view: TokenView | undefined
  readonly spots: readonly Spot[]
  /** Present if the dialect makes edits of its own. */
  readonly edits?: RequestEdits
  /** Ids of key sets that lack the key a token names. */
  readonly unknownKeys: readonly string[]
}

interface Rejection {
  readonly rule: TokenRule
  readonly spot: Spot
  readonly error: TokenError
}

const NONE: readonly never[] = Object.freeze([])

export function evaluate(
  { rules, finder }: TokenRules,
  request: TokenRequest,
  now: number,
  memory: TokenMemory | undefined,
): Evaluation {
  const { spots, bySlot } = finder.find(request)
  let accepting: TokenRule | undefined
  let view: TokenView | undefined
  let required: TokenRule | undefined
  let rejections: Rejection[] | undefined
  let unknownKeys: string[] | undefined

  for (const rule of rules) {
    let missing = true
    let first: TokenView | undefined
    for (let at = rule.slots.length - 1; at >= 0; at--) {
      const found = bySlot[rule.slots[at] ?? -1]
      if (found === undefined) continue
      missing = false
      for (let index = found.length - 1; index >= 0; index--) {
        const candidate = found[index]
        if (candidate === undefined) continue
        const verdict = judge(rule, candidate, now, memory)
        if (typeof verdict === "string") {
          rejections ??= []
          rejections.push({ rule, spot: candidate.spot, error: verdict })
          if (lacksKey(rule, candidate)) unknownKeys = withId(unknownKeys, rule.keySetId)
        } else {
          first = verdict
          if (candidate.spot.by === undefined) {
            candidate.spot.by = rule
            candidate.spot.view = verdict
          }
        }
      }
    }
    if (missing && rule.required) required ??= rule
    if (first !== undefined && accepting === undefined) {
      accepting = rule
      view = first
    }
  }

  const keys = unknownKeys ?? NONE
  if (rejections !== undefined) {
    const chosen = choose(rejections)
    if (chosen !== undefined) {
      return { error: chosen.error, by: chosen.rule, view: undefined, spots, unknownKeys: keys }
    }
  }
  if (required !== undefined) return { error: "JwtMissing", by: required, view: undefined, spots, unknownKeys: keys }
  return { error: undefined, by: accepting, view, spots, unknownKeys: keys }
}

/** The view of an accepted token, or why this rule does not accept it. */
function judge(rule: TokenRule, found: Found, now: number, memory: TokenMemory | undefined): TokenView | TokenError {
  const reading = readingOf(found, memory)
  if (typeof reading === "string") return reading
  const { token } = reading
  if (!isIssuerOf(rule, token)) return "JwtUnknownIssuer"
  if (typeof rule.keys === "string") return rule.keys
  const forged = reading.signatureError(rule.keys)
  if (forged !== undefined) return forged
  const unfit = checkConditions(rule, token, now)
  if (unfit === "JwtExpired") {
    memory?.forget(reading)
  } else if (!found.remembered) {
    memory?.remember(reading)
    found.remembered = true
  }
  return unfit ?? reading.view(rule.profile)
}

function readingOf(found: Found, memory: TokenMemory | undefined): TokenReading | TokenError {
  if (found.reading !== undefined) return found.reading
  const known = memory?.recall(found.text)
  found.remembered = known !== undefined
  found.reading = known ?? readToken(found.text)
  return found.reading
}

/** Undefined if the request may pass anyway, because another rule accepts each token that a rule rejected. */
function choose(rejections: readonly Rejection[]): Rejection | undefined {
  let first: Rejection | undefined
  let mostSpecific: Rejection | undefined
  let rule: TokenRule | undefined
  for (const rejection of rejections) {
    if (rejection.spot.by !== undefined) continue
    // Only the first error of a rule counts as its status.
    if (rejection.rule === rule) continue
    rule = rejection.rule
    first ??= rejection
    if (rejection.error !== "JwtUnknownIssuer") mostSpecific = rejection
  }
  return first?.error === "JwtUnknownIssuer" ? (mostSpecific ?? first) : first
}

function lacksKey(rule: TokenRule, { reading }: Found): boolean {
  if (rule.keySetId === undefined || typeof rule.keys === "string" || !(reading instanceof TokenReading)) return false
  return isIssuerOf(rule, reading.token) && isUnknownKid(reading.token.kid, rule.keys)
}

function withId(ids: string[] | undefined, id: string | undefined): string[] {
  const list = ids ?? []
  if (id !== undefined && !list.includes(id)) list.push(id)
  return list
}
