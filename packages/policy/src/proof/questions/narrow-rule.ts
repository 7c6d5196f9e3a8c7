// SPDX-License-Identifier: Apache-2.0
// Reduces a rule to the alternatives and values that make a difference: if a rule had `/a` and now has `/a` and `/b`, the
// change is `/b`.

import { type Clause, Criterion } from "../../authorization/criterion.js"
import { CompiledRule } from "../../authorization/rule.js"

// Nobody reads longer lists, and every value costs a search.
const MAX_TRIED = 24

/** `matters`: whether the reduced rule still makes the difference. */
export function narrowRule(rule: CompiledRule, matters: (narrower: CompiledRule) => boolean): CompiledRule {
  let best = rule
  for (const list of ["from", "to"] as const) {
    best = keepClauses(best, list, matters)
    for (const at of best[list].keys()) best = keepValues(best, list, at, matters)
  }
  return keepValues(best, "when", 0, matters)
}

function keepClauses(
  rule: CompiledRule,
  list: "from" | "to",
  matters: (narrower: CompiledRule) => boolean,
): CompiledRule {
  const clauses = rule[list]
  if (clauses.length < 2 || clauses.length > MAX_TRIED) return rule
  const kept = clauses.filter(clause => matters(withClauses(rule, list, [clause])))
  return kept.length === 0 ? rule : withClauses(rule, list, kept)
}

function keepValues(
  rule: CompiledRule,
  list: "from" | "to" | "when",
  at: number,
  matters: (narrower: CompiledRule) => boolean,
): CompiledRule {
  let best = rule
  for (const [index, criterion] of clauseAt(rule, list, at).entries()) {
    if (criterion.negated || criterion.values.length < 2 || criterion.values.length > MAX_TRIED) continue
    const withValues = (values: readonly string[]): CompiledRule => {
      const narrower = new Criterion(criterion.field, criterion.attribute, false, values)
      return withClause(best, list, at, clauseAt(best, list, at).with(index, narrower))
    }
    const kept = criterion.values.filter(value => matters(withValues([value])))
    if (kept.length > 0) best = withValues(kept)
  }
  return best
}

function clauseAt(rule: CompiledRule, list: "from" | "to" | "when", at: number): Clause {
  return list === "when" ? rule.when : (rule[list][at] ?? [])
}

function withClauses(rule: CompiledRule, list: "from" | "to", clauses: readonly Clause[]): CompiledRule {
  const { from, to, when } = rule
  return new CompiledRule(rule.ref, { from, to, when, [list]: clauses })
}

function withClause(rule: CompiledRule, list: "from" | "to" | "when", at: number, clause: Clause): CompiledRule {
  if (list !== "when") return withClauses(rule, list, rule[list].with(at, clause))
  return new CompiledRule(rule.ref, { from: rule.from, to: rule.to, when: clause })
}
