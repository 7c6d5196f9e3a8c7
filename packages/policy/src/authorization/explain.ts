// SPDX-License-Identifier: Apache-2.0
// The complete explanation of a decision: every policy, every rule and every field, with the expected and the actual
// value. It checks all rules in order and computes its own verdict, so that a bug in the index shows up as a
// disagreement with `decide`.

import type { Attributes } from "../request/attributes.js"
import { compareText } from "../selection/workload.js"
import type { Authorization } from "./authorization.js"
import type { Clause, Criterion } from "./criterion.js"
import type { Decision, Verdict } from "./decision.js"
import { type Action, type CompiledPolicy, unlessDenied } from "./engine.js"
import { type FailedCriterion, type NearMiss, nearestMiss } from "./nearest.js"
import type { CompiledRule, PolicyRef, RuleRef } from "./rule.js"

export interface CriterionTrace extends FailedCriterion {
  readonly holds: boolean
}

export interface ClauseTrace {
  readonly holds: boolean
  readonly criteria: readonly CriterionTrace[]
}

export interface RuleTrace {
  readonly rule: RuleRef
  readonly matched: boolean
  readonly from: readonly ClauseTrace[]
  readonly to: readonly ClauseTrace[]
  readonly when: ClauseTrace
}

export interface PolicyTrace {
  readonly policy: PolicyRef
  readonly action: Action
  readonly shadow: boolean
  readonly matched: boolean
  /** On a TCP connection, ALLOW rules with HTTP fields are missing, because they cannot match. */
  readonly rules: readonly RuleTrace[]
}

export interface Trace extends Decision {
  readonly protocol: "http" | "tcp"
  /** In evaluation order: CUSTOM, AUDIT, DENY, ALLOW. */
  readonly policies: readonly PolicyTrace[]
}

const ORDER: Readonly<Record<Action, number>> = { CUSTOM: 0, AUDIT: 1, DENY: 2, ALLOW: 3 }

export function explainAuthorization(authorization: Authorization, attributes: Attributes): Trace {
  const compiled = authorization.enforced(attributes)
  const enforced = traces(compiled, attributes)
  const promoted = authorization.promoted(attributes)
  const all = promoted && traces(promoted, attributes)
  const verdict = conclude(enforced)
  const missed = verdict.verdict === "deny" && verdict.rule === undefined
  const nearest = missed ? nearestAllow(compiled, attributes) : undefined
  return {
    ...verdict,
    policy: nearest?.rule.policy ?? verdict.policy,
    nearest,
    audit: firstMatched(enforced, "AUDIT"),
    shadow: all && conclude(all),
    protocol: attributes.http === undefined ? "tcp" : "http",
    policies: inOrder([...enforced, ...(all ?? []).filter(({ shadow }) => shadow)]),
  }
}

function traces(policies: readonly CompiledPolicy[], attributes: Attributes): readonly PolicyTrace[] {
  return inOrder(policies.map(policy => tracePolicy(policy, attributes)))
}

function inOrder(policies: readonly PolicyTrace[]): readonly PolicyTrace[] {
  return [...policies].sort((a, b) => ORDER[a.action] - ORDER[b.action])
}

function conclude(policies: readonly PolicyTrace[]): Verdict {
  const denied = firstMatched(policies, "DENY")
  if (denied !== undefined) return { verdict: "deny", stage: "deny", policy: denied.policy, rule: denied }
  const allow = policies.find(({ action }) => action === "ALLOW")
  const asked = providerRules(policies)
  if (allow === undefined)
    return unlessDenied({ verdict: "allow", stage: "default", policy: undefined, rule: undefined }, asked)
  const allowed = firstMatched(policies, "ALLOW")
  if (allowed === undefined) return { verdict: "deny", stage: "allow", policy: allow.policy, rule: undefined }
  return unlessDenied({ verdict: "allow", stage: "allow", policy: allowed.policy, rule: allowed }, asked)
}

function firstMatched(policies: readonly PolicyTrace[], action: Action): RuleRef | undefined {
  return matchedBy(policies, action)[0]
}

function matchedBy(policies: readonly PolicyTrace[], action: Action): readonly RuleRef[] {
  return policies
    .filter(policy => policy.action === action)
    .flatMap(({ rules }) => rules.filter(rule => rule.matched).map(({ rule }) => rule))
    .sort(byId)
}

/** For each provider, the first CUSTOM rule that matched, regardless of other rules. */
export function providerRules(policies: readonly PolicyTrace[]): readonly RuleRef[] {
  const matched = matchedBy(policies, "CUSTOM")
  return matched.filter(({ provider }, at) => matched.findIndex(other => other.provider === provider) === at)
}

function nearestAllow(policies: readonly CompiledPolicy[], attributes: Attributes): NearMiss | undefined {
  const rules = policies.filter(({ action }) => action === "ALLOW").flatMap(({ rules }) => rules)
  return nearestMiss(
    [...rules].sort((a, b) => byId(a.ref, b.ref)),
    attributes,
  )
}

const byId = (a: RuleRef, b: RuleRef): number => compareText(a.id, b.id)

function tracePolicy({ ref, action, shadow, rules }: CompiledPolicy, attributes: Attributes): PolicyTrace {
  const traces = rules.map(rule => traceRule(rule, attributes))
  return { policy: ref, action, shadow, matched: traces.some(({ matched }) => matched), rules: traces }
}

function traceRule(rule: CompiledRule, attributes: Attributes): RuleTrace {
  const from = rule.from.map(clause => traceClause(clause, attributes))
  const to = rule.to.map(clause => traceClause(clause, attributes))
  const when = traceClause(rule.when, attributes)
  return { rule: rule.ref, matched: some(from) && some(to) && when.holds, from, to, when }
}

const some = (clauses: readonly ClauseTrace[]): boolean => clauses.length === 0 || clauses.some(({ holds }) => holds)

function traceClause(clause: Clause, attributes: Attributes): ClauseTrace {
  const criteria = clause.map(criterion => traceCriterion(criterion, attributes))
  return { holds: criteria.every(({ holds }) => holds), criteria }
}

function traceCriterion(criterion: Criterion, attributes: Attributes): CriterionTrace {
  const { field, attribute, negated, values } = criterion
  return {
    field,
    attribute: attribute.name,
    negated,
    values,
    actual: attribute.show(attributes),
    holds: criterion.holds(attributes),
  }
}
