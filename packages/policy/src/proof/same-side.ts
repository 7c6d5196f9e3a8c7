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
  const ports = side.namedPorts.map(port => [port, side.mode(port)] as const)
  const usual = side.mode(undefined)
  return JSON.stringify([
    usual,
    ports.filter(([, mode]) => mode !== usual),
    side.tokens.map(({ id }) => id),
    rulesKey(side.http),
    rulesKey(side.tcp),
  ])
}

function rulesKey({ deny, allow, closed }: Rules): unknown {
  return [uniqueSorted(deny.map(ruleKey)), uniqueSorted(allow.map(ruleKey)), closed]
}

export function ruleKey({ from, to, when }: CompiledRule): string {
  return JSON.stringify([uniqueSorted(from.map(clauseKey)), uniqueSorted(to.map(clauseKey)), clauseKey(when)])
}

function clauseKey(clause: Clause): string {
  const criteria = clause.map(({ attribute, negated, values }) => [attribute.name, negated, uniqueSorted(values)])
  return JSON.stringify(uniqueSorted(criteria.map(criterion => JSON.stringify(criterion))))
}

function uniqueSorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort()
}
