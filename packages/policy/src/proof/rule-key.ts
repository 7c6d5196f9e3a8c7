// SPDX-License-Identifier: Apache-2.0
// Rules with the same content have the same key, whichever documents they are in.

import type { Clause } from "../authorization/criterion.js"
import type { CompiledRule } from "../authorization/rule.js"

const keys = new WeakMap<CompiledRule, string>()

/** INVARIANT: rules with equal keys match the same requests of one workload. */
export function ruleKey(rule: CompiledRule): string {
  let key = keys.get(rule)
  if (key === undefined) {
    const { from, to, when } = rule
    key = JSON.stringify([uniqueSorted(from.map(clauseKey)), uniqueSorted(to.map(clauseKey)), clauseKey(when)])
    keys.set(rule, key)
  }
  return key
}

function clauseKey(clause: Clause): string {
  const criteria = clause.map(({ attribute, negated, values }) => [attribute.name, negated, uniqueSorted(values)])
  return JSON.stringify(uniqueSorted(criteria.map(criterion => JSON.stringify(criterion))))
}

export function uniqueSorted(texts: readonly string[]): readonly string[] {
  return texts.length < 2 ? texts : [...new Set(texts)].sort()
}
