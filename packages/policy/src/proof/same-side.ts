// SPDX-License-Identifier: Apache-2.0
// Whether two sets of policies say the same of a workload in the same words, whatever documents they stand in and in
// whatever order. Most workloads of a mesh are untouched by most changes, and this is how they cost nothing.

import type { Clause } from "../authorization/criterion.js"
import type { CompiledRule } from "../authorization/rule.js"
import type { PolicySide, Rules } from "./policy-side.js"

export function sameSide(a: PolicySide, b: PolicySide): boolean {
  return sideKey(a) === sideKey(b)
}

/** INVARIANT: sides of equal key decide every request alike. */
export function sideKey(side: PolicySide): string {
  return JSON.stringify([stagesKey(side), rulesKey(side.http), rulesKey(side.tcp)])
}

/** The same for everything but rules. */
export function stagesKey(side: PolicySide): string {
  const ports = side.namedPorts.map(port => [port, side.mode(port)] as const)
  const usual = side.mode(undefined)
  const own = ports.filter(([, mode]) => mode !== usual)
  return JSON.stringify([usual, own, side.tokens.map(({ id }) => id), side.http.closed, side.tcp.closed])
}

function rulesKey({ deny, allow }: Rules): unknown {
  return [uniqueSorted(deny.map(ruleKey)), uniqueSorted(allow.map(ruleKey))]
}

const keys = new WeakMap<CompiledRule, string>()

/** INVARIANT: rules of equal key match the same requests of one workload. */
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

function uniqueSorted(texts: readonly string[]): readonly string[] {
  return texts.length < 2 ? texts : [...new Set(texts)].sort()
}
