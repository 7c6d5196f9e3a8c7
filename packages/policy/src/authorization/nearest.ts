// SPDX-License-Identifier: Apache-2.0
// Answers "why was this not allowed?": the ALLOW rule with the fewest failing fields, and the first of these fields in
// reading order. If several rules tie, the first one wins.

import type { Attributes } from "../request/attributes.js"
import { shown } from "../resources/document-error.js"
import type { Clause, Criterion } from "./criterion.js"
import type { CompiledRule, RuleParts, RuleRef } from "./rule.js"

export interface NearMiss {
  readonly rule: RuleRef
  readonly failed: FailedCriterion
}

export interface FailedCriterion {
  /** Its path within the rule, such as `from[0].source.principals`. */
  readonly field: string
  readonly attribute: string
  readonly negated: boolean
  /** The values in the policy, expanded if trust domains have aliases. */
  readonly values: readonly string[]
  /** The request's value; absent if it has none. */
  readonly actual: string | undefined
}

export function nearestMiss(rules: Iterable<CompiledRule>, attributes: Attributes): NearMiss | undefined {
  let nearest: CompiledRule | undefined
  let fewest = Number.POSITIVE_INFINITY
  let failed: Criterion | undefined
  for (const rule of rules) {
    const failures = ruleFailures(rule, attributes)
    const [first] = failures
    if (first === undefined || failures.length >= fewest) continue
    nearest = rule
    fewest = failures.length
    failed = first
  }
  if (nearest === undefined || failed === undefined) return undefined
  return { rule: nearest.ref, failed: describeFailure(failed, attributes) }
}

function ruleFailures({ from, to, when }: RuleParts, attributes: Attributes): readonly Criterion[] {
  return [...anyFailures(from, attributes), ...anyFailures(to, attributes), ...clauseFailures(when, attributes)]
}

/** The failures of the nearest alternative. */
function anyFailures(clauses: readonly Clause[], attributes: Attributes): readonly Criterion[] {
  let fewest: readonly Criterion[] | undefined
  for (const clause of clauses) {
    const failures = clauseFailures(clause, attributes)
    if (fewest === undefined || failures.length < fewest.length) fewest = failures
    if (failures.length === 0) break
  }
  return fewest ?? []
}

function clauseFailures(clause: Clause, attributes: Attributes): readonly Criterion[] {
  return clause.filter(criterion => !criterion.holds(attributes))
}

function describeFailure({ field, attribute, negated, values }: Criterion, attributes: Attributes): FailedCriterion {
  return { field, attribute: attribute.name, negated, values, actual: attribute.show(attributes) }
}

/** The near miss as one sentence for a log line; text from callers is shortened and cannot start a new line. */
export function describeNearMiss({ rule, failed }: NearMiss): string {
  const { policy } = rule
  const wanted = `${failed.negated ? "none of" : "one of"} ${failed.values.slice(0, 3).map(shown).join(", ")}${failed.values.length > 3 ? ", …" : ""}`
  const had = failed.actual === undefined ? "has none" : `has ${shown(failed.actual)}`
  return `nearest rule ${rule.alias ?? `${policy.namespace}/${policy.name} rules[${rule.rule}]`}: ${failed.field} wants ${wanted}, the request ${had}`
}
