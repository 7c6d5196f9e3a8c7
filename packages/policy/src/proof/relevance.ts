// SPDX-License-Identifier: Apache-2.0
// Leaves out the rules that cannot matter for a comparison: where modes and token rules are the same, two sets can only
// differ on a request that a changed rule matches, so a rule that never matches together with a changed one has no say.

import type { Clause } from "../authorization/criterion.js"
import { type Pattern, type PatternSyntax, parsePattern } from "../authorization/pattern.js"
import type { CompiledRule } from "../authorization/rule.js"
import { textsApart } from "./classes/mark.js"
import type { PolicySide, Rules } from "./policy-side.js"
import { ruleKey } from "./rule-key.js"
import { stagesKey } from "./same-side.js"

/** Attributes of one value each by which most rules keep out of each other's way. */
const SYNTAX: { readonly [attribute: string]: PatternSyntax } = {
  "source.principal": "wildcard",
  path: "path",
  method: "wildcard",
  "destination.port": "literal",
}

// With more changes than this hardly a rule is left out, and looking costs more than it saves.
const MAX_CHANGED = 64

export function relevantSides(before: PolicySide, after: PolicySide): readonly [PolicySide, PolicySide] {
  if (stagesKey(before) !== stagesKey(after)) return [before, after]
  const http = relevantRules(before.http, after.http)
  const tcp = relevantRules(before.tcp, after.tcp)
  return [
    { ...before, http: http[0], tcp: tcp[0] },
    { ...after, http: http[1], tcp: tcp[1] },
  ]
}

function relevantRules(before: Rules, after: Rules): readonly [Rules, Rules] {
  const changed = [...changedIn(before.deny, after.deny), ...changedIn(before.allow, after.allow)]
  if (changed.length > MAX_CHANGED) return [before, after]
  const reach = Object.entries(SYNTAX).flatMap(([attribute, syntax]) => {
    const patterns = changed.map(rule => patternsOf(rule, attribute, syntax))
    return patterns.some(one => one === undefined)
      ? []
      : [{ attribute, syntax, patterns: patterns.flatMap(one => one ?? []) }]
  })
  const kept = (rule: CompiledRule): boolean =>
    reach.every(({ attribute, syntax, patterns }) => {
      const own = patternsOf(rule, attribute, syntax)
      return own === undefined || own.some(one => patterns.some(other => !textsApart(one, other)))
    })
  const filtered = ({ deny, allow, closed }: Rules): Rules => ({
    deny: deny.filter(kept),
    allow: allow.filter(kept),
    closed,
  })
  return [filtered(before), filtered(after)]
}

function changedIn(before: readonly CompiledRule[], after: readonly CompiledRule[]): readonly CompiledRule[] {
  const [old, young] = [new Set(before.map(ruleKey)), new Set(after.map(ruleKey))]
  return [...before.filter(rule => !young.has(ruleKey(rule))), ...after.filter(rule => !old.has(ruleKey(rule)))]
}

/** Patterns one of which every request that the rule matches bears; undefined where it asks for none. */
function patternsOf(
  { from, to, when }: CompiledRule,
  attribute: string,
  syntax: PatternSyntax,
): readonly Pattern[] | undefined {
  for (const clauses of [[when], from, to]) {
    const asked = clauses.map(clause => positiveValues(clause, attribute))
    if (asked.length === 0 || asked.some(values => values === undefined)) continue
    return asked.flatMap(values => (values ?? []).map(value => parsePattern(value, syntax)))
  }
  return undefined
}

function positiveValues(clause: Clause, name: string): readonly string[] | undefined {
  return clause.find(({ attribute, negated }) => attribute.name === name && !negated)?.values
}
