// SPDX-License-Identifier: Apache-2.0
// The possible outcomes of a request, each as problems for the search: a request has an outcome exactly if it solves one
// of the outcome's problems. They follow the fixed order of stages (see `judge.ts`): mode, tokens, DENY, ALLOW. The
// answer of an external authorizer is unknown, so a request that everything else allows and that the authorizer is asked
// about has an outcome of its own.

import { readsLocation } from "./frame.js"
import type { PolicySide, Rules } from "./policy-side.js"
import { exactMark, type ReadingContext, subjectMark } from "./read-criterion.js"
import { readRules } from "./read-rule.js"
import type { RuleRegion } from "./read-rules.js"
import { type Condition, EVERYWHERE, type Problem, type Region, region } from "./search/formula.js"
import type { Space } from "./space.js"
import type { ProofTokenRule } from "./token-rules.js"
import type { TokenSpace } from "./token-space.js"

/**
 * `custom`: allowed unless the provider of a CUSTOM rule denies. `unauthenticated`: a token is missing or invalid.
 * `transport`: the port's mTLS mode closes the connection.
 */
export type Outcome = "allow" | "custom" | "deny" | "unauthenticated" | "transport"

export const OUTCOMES: readonly Outcome[] = ["allow", "custom", "deny", "unauthenticated", "transport"]

/** Where a token rule accepts the token. */
export interface TokenRegion extends Region {
  /** The rule's name. */
  readonly token: string
}

/** The stages of one side, in one frame. */
export interface Stages {
  /** The requests that the port's mTLS mode denies. */
  readonly transport: readonly Region[]
  /** The requests that lack a required token. */
  readonly missing: readonly Region[]
  /** The requests whose token is valid; undefined if no token is read. */
  readonly good: readonly TokenRegion[] | undefined
  readonly deny: readonly RuleRegion[]
  readonly allow: readonly RuleRegion[]
  readonly custom: readonly RuleRegion[]
  readonly closed: boolean
}

export function stagesOf(side: PolicySide, context: ReadingContext): Stages {
  const { frame, space } = context
  const rules: Rules = frame.protocol === "http" ? side.http : side.tcp
  const read = (list: Rules["deny"]) => readRules(list, context)
  return {
    transport: deniedPorts(side, frame.identity ? "DISABLE" : "STRICT", space),
    ...(frame.protocol === "http" ? tokenStage(side.tokens, context) : NO_TOKENS),
    deny: read(rules.deny),
    allow: read(rules.allow),
    custom: read(rules.custom).map(customRegion),
    closed: rules.closed,
  }
}

/** Has a key of its own: no other rule does what a provider may do, even one that matches the same requests. */
function customRegion(region: RuleRegion): RuleRegion {
  return { ...region, key: `${JSON.stringify(region.ref.provider)} may deny ${region.key}` }
}

/** The problems whose solutions are exactly the requests with this outcome. */
export function problemsOf(stages: Stages, outcome: Outcome): readonly Problem[] {
  const { transport, missing, good, deny, allow, custom, closed } = stages
  const authenticated = good === undefined ? [] : [good]
  switch (outcome) {
    case "transport":
      return [{ needs: [transport], bans: [] }]
    case "unauthenticated": {
      const without = { needs: [missing], bans: transport }
      return good === undefined ? [without] : [without, { needs: [], bans: [...transport, ...good] }]
    }
    case "deny": {
      const denied = { needs: [...authenticated, deny], bans: [...transport, ...missing] }
      const missed = { needs: authenticated, bans: [...transport, ...missing, ...allow] }
      return closed ? [denied, missed] : [denied]
    }
    case "allow":
    case "custom": {
      const needs = closed ? [...authenticated, allow] : authenticated
      const bans = [...transport, ...missing, ...deny]
      return [outcome === "allow" ? { needs, bans: [...bans, ...custom] } : { needs: [...needs, custom], bans }]
    }
  }
}

/** Ports whose mTLS mode denies, as a condition on the port: most have the same mode, a few have their own. */
function deniedPorts(side: PolicySide, denied: "STRICT" | "DISABLE", { port }: Space): readonly Region[] {
  const usual = side.mode(undefined) === denied
  const marks = side.namedPorts
    .filter(named => (side.mode(named) === denied) !== usual)
    .map(named => ({ kind: "choice", key: String(named) }) as const)
  if (marks.length === 0) return usual ? [EVERYWHERE] : []
  return [region({ dimension: port, negated: usual, marks })]
}

const NO_TOKENS = { missing: [], good: undefined }

function tokenStage(
  rules: readonly ProofTokenRule[],
  { frame: { token }, space }: ReadingContext,
): Pick<Stages, "missing" | "good"> {
  const required = rules.filter(rule => rule.required)
  if (token === "preflight") return NO_TOKENS
  if (token === "none") return { missing: required.length > 0 ? [EVERYWHERE] : [], good: undefined }
  const missing = required.some(rule => !readsLocation(rule, token.at)) ? [EVERYWHERE] : []
  return {
    missing,
    good: rules.filter(rule => readsLocation(rule, token.at)).flatMap(rule => accepted(rule, space.token)),
  }
}

/** The tokens that this rule accepts at a location where it looks. */
export function accepted(
  { name, issuer, audiences, requireExpiration, keys }: ProofTokenRule,
  token: TokenSpace,
): readonly TokenRegion[] {
  if (keys.length === 0) return []
  const conditions: Condition[] = [
    { dimension: token.key, negated: false, marks: keys.map(key => ({ kind: "choice", key }) as const) },
  ]
  if (issuer !== undefined) {
    conditions.push({ dimension: token.subject, negated: false, marks: [subjectMark(exactMark(issuer), undefined)] })
  }
  if (audiences !== undefined) {
    conditions.push({ dimension: token.claim(["aud"]), negated: false, marks: audiences.map(exactMark) })
  }
  if (requireExpiration) {
    conditions.push({ dimension: token.expiry, negated: false, marks: [{ kind: "choice", key: "set" }] })
  }
  return [{ ...region(...conditions), token: name }]
}
