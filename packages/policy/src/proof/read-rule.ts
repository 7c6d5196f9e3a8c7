// SPDX-License-Identifier: Apache-2.0
// A compiled rule as a region of one frame.

import type { Clause } from "../authorization/criterion.js"
import type { CompiledRule, RuleRef } from "../authorization/rule.js"
import { hasToken } from "./frame.js"
import { type ReadingContext, readCriterion } from "./read-criterion.js"
import { ruleKey } from "./rule-key.js"
import { type Condition, keyOf, type Part, type Region } from "./search/formula.js"

/** A rule with where it stands. */
export interface RuleRegion extends Region {
  readonly rule: CompiledRule
  readonly ref: RuleRef
}

export const isRuleRegion = (region: Region): region is RuleRegion => "rule" in region

/** Undefined where nothing in this frame can match the rule. */
export function readRule(rule: CompiledRule, context: ReadingContext): RuleRegion | undefined {
  const id = `${ruleKey(rule)} ${readingOf(rule, context)}`
  const { regions } = context.space
  let region = regions.get(id)
  if (region === undefined) {
    region = regionOf(rule, context) ?? NOWHERE
    regions.set(id, region)
  }
  return region === NOWHERE ? undefined : { ...region, rule, ref: rule.ref }
}

const NOWHERE: Region = { key: "nowhere", groups: [] }

/** INVARIANT: rules of equal key are read alike in contexts for which this is equal. */
function readingOf({ from, to, when }: CompiledRule, { frame, issuers }: ReadingContext): string {
  const names = [...from, ...to, when].flatMap(clause => clause.map(({ attribute }) => attribute.name))
  const token = names.some(name => name.startsWith("request.auth."))
  const peer = names.some(name => name.startsWith("source.") || name === "connection.sni")
  const parts = [frame.protocol, peer ? frame.identity : "", token ? hasToken(frame) : ""]
  return names.includes("request.auth.principal") ? JSON.stringify([parts, [...issuers].sort()]) : parts.join()
}

function regionOf(rule: CompiledRule, context: ReadingContext): Region | undefined {
  const { from, to, when } = rule
  // With one alternative at most there is no choice, and all conditions are one part.
  const single = from.length <= 1 && to.length <= 1
  const lists = single
    ? [[[...from.flat(), ...to.flat(), ...when]]]
    : [from, to, [when]].filter(list => list.length > 0)
  const groups: (readonly Part[])[] = []
  const unread: string[] = []
  for (const clauses of lists) {
    const parts = clauses.flatMap(clause => readClause(clause, context, unread))
    if (parts.length === 0) return undefined
    // An alternative that asks nothing makes the others superfluous.
    if (!parts.some(({ conditions, opaque }) => conditions.length === 0 && !opaque)) groups.push(parts)
  }
  return { key: keyOf(groups) + unread.join(), groups }
}

/** None where the clause cannot hold. */
function readClause(clause: Clause, context: ReadingContext, unread: string[]): readonly Part[] {
  const conditions: Condition[] = []
  let opaque = false
  for (const criterion of clause) {
    const read = readCriterion(criterion, context)
    if (read === false) return []
    if (read === true) continue
    if (read === "opaque") {
      opaque = true
      const { attribute, negated, values } = criterion
      unread.push(JSON.stringify([attribute.name, negated, values]))
    } else conditions.push(read)
  }
  return [{ conditions, opaque }]
}
