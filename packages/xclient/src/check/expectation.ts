// SPDX-License-Identifier: Apache-2.0
// The expected split, such as `v1=50,v2=50`. Weights are shares of their sum, so 1 and 1 is the same split as 50 and
// 50; a destination that is not named is expected to get nothing.

import { periodOf, SmoothWeighted } from "../balance/smooth-weighted.js"

export type Shares = ReadonlyMap<string, number>

const ENTRY = /^([^=\s]{1,253})=(\d{1,10})$/

/** Throws if the text is not an expectation. */
export function parseExpectation(text: string): Shares {
  const shares = new Map<string, number>()
  for (const entry of text.split(",")) {
    const [, name, weight] = ENTRY.exec(entry.trim()) ?? []
    if (name === undefined)
      throw new Error(`\`${entry.trim()}\` is not an expected share; write NAME=WEIGHT, such as \`v1=50,v2=50\``)
    if (shares.has(name)) throw new Error(`\`${name}\` is listed twice`)
    shares.set(name, Number(weight))
  }
  if (totalOf(shares) === 0) throw new Error("all expected shares are 0; at least one must be greater")
  return shares
}

export function isSameSplit(a: Shares, b: Shares): boolean {
  const [totalA, totalB] = [totalOf(a), totalOf(b)]
  if (totalA === 0 || totalB === 0) return totalA === totalB
  return namesOf(a, b).every(name => (a.get(name) ?? 0) * totalB === (b.get(name) ?? 0) * totalA)
}

/**
 * Whether the counts match the expected split: exactly for full periods, otherwise as closely as the balancer does in
 * the middle of one.
 */
export function isExpectedCount(counts: Shares, expected: Shares): boolean {
  const requests = totalOf(counts)
  const weights = [...expected.values()]
  const period = periodOf(weights)
  if (requests === 0 || period === 0) return false
  const slack = requests % period === 0 ? 0 : Math.max(1, slackOf(expected, requests))
  return namesOf(counts, expected).every(name => {
    const weight = expected.get(name) ?? 0
    const difference = Math.abs((counts.get(name) ?? 0) - (weight * requests) / totalOf(expected))
    return weight === 0 ? difference === 0 : difference <= slack + Number.EPSILON * requests
  })
}

/** As Go prints a map, a format that scripts for the other mesh already parse. */
export function showShares(shares: Shares): string {
  const entries = [...shares].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, weight]) => `${name}:${weight}`)
  return `map[${entries.join(" ")}]`
}

function slackOf(expected: Shares, requests: number): number {
  const balancer = new SmoothWeighted([...expected].map(([value, weight]) => ({ value, weight })))
  const counts = new Map<string, number>()
  for (let index = 0; index < requests % periodOf([...expected.values()]); index++) {
    const name = balancer.pick() ?? ""
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const rest = totalOf(counts)
  return Math.max(
    ...[...expected].map(([name, weight]) => Math.abs((counts.get(name) ?? 0) - (weight * rest) / totalOf(expected))),
  )
}

function totalOf(shares: Shares): number {
  let total = 0
  for (const share of shares.values()) total += share
  return total
}

function namesOf(a: Shares, b: Shares): readonly string[] {
  return [...new Set([...a.keys(), ...b.keys()])]
}
