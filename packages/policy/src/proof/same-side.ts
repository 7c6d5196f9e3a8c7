// SPDX-License-Identifier: Apache-2.0
// Whether two sets of policies have the same content for a workload, regardless of documents and order. Most changes do
// not affect most workloads, and this check makes those cost nothing.

import type { CompiledRule } from "../authorization/rule.js"
import type { Budget } from "./budget.js"
import type { PolicySide, Rules } from "./policy-side.js"
import { ruleKey, uniqueSorted } from "./rule-key.js"

/**
 * `read`: the headers that rules of either side read. INVARIANT: if true, both decide every request of one mesh alike.
 */
export function sameSide(a: PolicySide, b: PolicySide, read: ReadonlySet<string>): boolean {
  const keyOf = (side: PolicySide): string =>
    JSON.stringify([stagesKey(side, read), rulesKey(side.http), rulesKey(side.tcp)])
  return keyOf(a) === keyOf(b)
}

export interface OneSided {
  readonly rule: CompiledRule
  /** 0 or 1. */
  readonly side: number
}

/** Rules that only one of the two sides has with this effect. INVARIANT: empty if both sides have the same rules. */
export function rulesOfOneSide([a, b]: readonly [PolicySide, PolicySide], budget: Budget): readonly OneSided[] {
  const lists = ({ http, tcp }: PolicySide) => [http.deny, http.allow, http.custom, tcp.deny, tcp.allow, tcp.custom]
  const others = lists(b)
  return lists(a).flatMap((ours, at) => {
    const theirs = others[at] ?? []
    return [...without(ours, theirs, 0, budget), ...without(theirs, ours, 1, budget)]
  })
}

function without(
  rules: readonly CompiledRule[],
  others: readonly CompiledRule[],
  side: number,
  budget: Budget,
): readonly OneSided[] {
  const keyOf = (rule: CompiledRule): string => {
    budget.look()
    return rule.ref.provider === undefined ? ruleKey(rule) : customKey(rule)
  }
  const known = new Set(others.map(keyOf))
  return rules.filter(rule => !known.has(keyOf(rule))).map(rule => ({ rule, side }))
}

/**
 * What token rules accept and how they change the headers that rules read. INVARIANT: they affect rules in no other
 * way.
 */
export function tokensKey({ tokens, headers }: PolicySide, read: ReadonlySet<string>): string {
  return JSON.stringify([tokens.map(({ acceptance }) => acceptance), [...read].map(name => headers.treatment(name))])
}

/** The same key for everything except rules. */
export function stagesKey(side: PolicySide, read: ReadonlySet<string>): string {
  const ports = side.namedPorts.map(port => [port, side.mode(port)] as const)
  const usual = side.mode(undefined)
  const own = ports.filter(([, mode]) => mode !== usual)
  return JSON.stringify([usual, own, tokensKey(side, read), side.http.closed, side.tcp.closed])
}

function rulesKey({ deny, allow, custom }: Rules): unknown {
  return [uniqueSorted(deny.map(ruleKey)), uniqueSorted(allow.map(ruleKey)), uniqueSorted(custom.map(customKey))]
}

/** Includes the provider, because another provider may answer differently. */
function customKey(rule: CompiledRule): string {
  return JSON.stringify([rule.ref.provider, ruleKey(rule)])
}
