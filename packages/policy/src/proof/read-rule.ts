// SPDX-License-Identifier: Apache-2.0
// A compiled rule as a region of one frame.

import type { Clause } from "../authorization/criterion.js"
import type { CompiledRule, RuleRef } from "../authorization/rule.js"
import { type ReadingContext, readCriterion } from "./read-criterion.js"
import { type Condition, keyOf, type Part, type Region } from "./search/formula.js"

/** A rule with where it stands. */
export interface RuleRegion extends Region {
  readonly rule: CompiledRule
  readonly ref: RuleRef
}

export const isRuleRegion = (region: Region): region is RuleRegion => "rule" in region

/** Undefined where nothing in this frame can match the rule. */
export function readRule(rule: CompiledRule, context: ReadingContext): RuleRegion | undefined {
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
  return { key: keyOf(groups) + unread.join(), groups, rule, ref: rule.ref }
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
