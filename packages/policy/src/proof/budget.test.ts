// SPDX-License-Identifier: Apache-2.0
// A client waits for the answer, so the clock is checked while rules are prepared too.

import { expect, it } from "vitest"
import { policy, workload } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { PolicyInvariant } from "../resources/document.js"
import { compareSets } from "./questions/compare.js"
import { checkInvariants } from "./questions/invariants.js"

const RULES = 960
const rulesOf = (word: string): readonly Rule[] =>
  Array.from({ length: RULES }, (_, n) => ({ to: [{ operation: { paths: [`/${word}/${n}`] } }] }))
const [before, after] = ["a", "b"].map(word => [policy("p", { rules: [...rulesOf(word)] })])
const invariant: PolicyInvariant = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "PolicyInvariant",
  metadata: { name: "i", namespace: "foo" },
  spec: { never: [{ name: "nobody", to: [{ operation: { paths: ["/b/1"] } }] }] },
}

/** Limits whose time is up at the nth clock check, with the number of checks. */
function ending(at: number) {
  let looks = 0
  const now = (): number => (++looks > at ? 1 : 0)
  return { limits: { steps: Number.MAX_SAFE_INTEGER, deadline: 0, now }, looks: () => looks }
}

it.each([1, 10, 50, 100, 200])("ends a comparison at the clock check that exceeds the deadline: the %ith", at => {
  const { limits, looks } = ending(at)
  const { undecided } = compareSets(before ?? [], after ?? [], workload, meshConfig(), { limits, now: 1_000 })
  expect(undecided).toBe("the time limit was reached")
  expect(looks()).toBe(at + 1)
})

it("checks the clock every few dozen rules that a comparison prepares", () => {
  const { limits, looks } = ending(Number.POSITIVE_INFINITY)
  compareSets(before ?? [], after ?? [], workload, meshConfig(), { limits: { ...limits, steps: 0 }, now: 1_000 })
  // Before the first step of a search, rules are compared with the other set, compiled and read.
  expect(looks()).toBeGreaterThan((4 * 2 * RULES) / 64)
})

it("checks the clock every few dozen rules that an invariant prepares", () => {
  const { limits, looks } = ending(Number.POSITIVE_INFINITY)
  const options = { limits: { ...limits, steps: 0 }, now: 1_000 }
  const [checked] = checkInvariants([invariant], after ?? [], [workload], meshConfig(), options)
  expect(checked?.result).toMatchObject({ verdict: "undecided", reason: "the budget of steps is used up" })
  expect(looks()).toBeGreaterThan((2 * RULES) / 64)
})
