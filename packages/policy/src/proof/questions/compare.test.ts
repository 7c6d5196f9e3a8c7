// SPDX-License-Identifier: Apache-2.0
// Differences that affect few requests. The property tests cover what holds for all sets.

import { describe, expect, it } from "vitest"
import { policy, workload } from "../../authorization/testing/requests.js"
import { meshConfig } from "../../mesh/config.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy } from "../../resources/document.js"
import { compareSets } from "./compare.js"

const compared = (before: readonly Rule[], after: readonly Rule[]) =>
  compareSets([policy("p", { rules: before })], [policy("p", { rules: after })], workload, meshConfig(), { now: 1_000 })

const by = (principal: string, ...paths: readonly string[]): Rule => ({
  from: [{ source: { principals: [principal] } }],
  to: [{ operation: { paths: [...paths] } }],
})
const anybody = (...paths: readonly string[]): Rule => ({ to: [{ operation: { paths: [...paths] } }] })

describe("of several changed rules", () => {
  const known = by("*", "/b")
  const reworded = [by("cluster.local/ns/app/sa/web", "/a*"), by("cluster.local/ns/app/sa/web", "/a*", "/ab")] as const

  it("one that matters only to callers without an identity makes a difference to them alone", () => {
    const { result, changes } = compared([known, reworded[0]], [known, reworded[1], anybody("/b")])
    expect(result).toBe("different")
    expect(changes).toMatchObject([{ from: "deny", to: "allow", witness: { path: "/b" } }])
    expect(changes[0]?.witness.principal).toBeUndefined()
  })

  it("the others alone make no difference", () => {
    expect(compared([known, reworded[0]], [known, reworded[1]])).toEqual({
      result: "equal",
      changes: [],
      undecided: undefined,
    })
  })
})

it.each([
  ["first", [anybody("/a"), anybody("/b")], [anybody("/a")], "deny"],
  ["second", [anybody("/a")], [anybody("/a"), anybody("/b")], "allow"],
] as const)("a rule that only the %s set has makes a difference", (_, before, after, to) => {
  expect(compared(before, after).changes).toMatchObject([{ to, witness: { path: "/b" } }])
})

it("detects a rule that matches exactly the paths it did not match before", () => {
  const but: Rule = { to: [{ operation: { notPaths: ["/a"] } }] }
  expect(compared([anybody("/a")], [but]).result).toBe("different")
})

it.each([
  ["a.example..", "a.example.."],
  ["a.example..:80", "a.example..:80"],
])("a rule on the host %s, of which one dot is ignored, makes a difference", (host, shown) => {
  const named: Rule = { to: [{ operation: { hosts: [host] } }] }
  expect(compared([anybody("/a"), named], [anybody("/a")]).changes).toMatchObject([
    { from: "allow", to: "deny", witness: { host: shown } },
  ])
})

describe("a request that a provider is asked about", () => {
  const custom = policy("p", { action: "CUSTOM", provider: { name: "ext" }, rules: [anybody("/a")] })
  const outcomes = (before: readonly AuthorizationPolicy[], after: readonly AuthorizationPolicy[]) => {
    const { result, changes } = compareSets(before, after, workload, meshConfig(), { now: 1_000 })
    return { result, changes: changes.map(({ from, to, witness }) => [from, to, witness.path]) }
  }

  it("does not count as allowed", () => {
    const denied = policy("p", { action: "DENY", rules: [anybody("/a")] })
    expect(outcomes([denied], [custom])).toEqual({ result: "different", changes: [["deny", "custom", "/a"]] })
    expect(outcomes([], [custom])).toEqual({ result: "different", changes: [["allow", "custom", "/a"]] })
  })

  it("is proved equal if both sets ask in different words", () => {
    const reworded = policy("p", { action: "CUSTOM", provider: { name: "ext" }, rules: [anybody("/a", "/a")] })
    const wider = policy("p", { action: "CUSTOM", provider: { name: "ext" }, rules: [anybody("/a", "/c")] })
    expect(outcomes([custom], [reworded])).toEqual({ result: "equal", changes: [] })
    expect(outcomes([custom], [wider])).toEqual({ result: "different", changes: [["allow", "custom", "/c"]] })
  })

  it("does not include requests that other rules deny", () => {
    const closed = policy("q", { rules: [anybody("/b")] })
    expect(outcomes([closed], [closed, custom])).toEqual({ result: "equal", changes: [] })
  })
})
