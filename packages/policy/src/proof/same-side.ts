// SPDX-License-Identifier: Apache-2.0
// Whether two sets of policies say the same of a workload in the same words, whatever documents they stand in and in
// whatever order. Most workloads of a mesh are untouched by most changes, and this is how they cost nothing.

import type { PolicySide, Rules } from "./policy-side.js"
import { ruleKey, uniqueSorted } from "./rule-key.js"

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
