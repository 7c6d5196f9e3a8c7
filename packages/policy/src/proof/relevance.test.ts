// SPDX-License-Identifier: Apache-2.0
// The rules that a comparison leaves out must not be missed: the reduced sets differ on the same requests, with the
// same verdicts.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { httpRequest, policy, tcpConnection } from "../authorization/testing/requests.js"
import { compile, decide, type Program } from "../program.js"
import type { Attributes } from "../request/attributes.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy } from "../resources/document.js"
import { Budget } from "./budget.js"
import { compareSets } from "./questions/compare.js"
import { relevantRules } from "./relevance.js"
import { mesh, workload } from "./testing/sets.js"

const PATHS = ["/a", "/a*", "/ab", "/b", "/c/{*}", "/{*}/x", "*b", "*"]
const CALLERS = ["cluster.local/ns/n/sa/x", "cluster.local/ns/n/*", "old.td/ns/n/sa/x", "*/sa/y"]
const some = (values: readonly string[]) => fc.subarray([...values], { minLength: 1, maxLength: 2 })
const operation = fc.record({ paths: some(PATHS), methods: some(["GET", "PO*"]) }, { requiredKeys: ["paths"] })
const source = fc.record({ principals: some(CALLERS), notNamespaces: some(["n", "m"]) }, { requiredKeys: [] })
const written: fc.Arbitrary<Rule> = fc.record(
  {
    from: fc.array(fc.record({ source }), { minLength: 1, maxLength: 2 }),
    to: fc.array(fc.record({ operation }), { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: [] },
)
const sets = fc
  .tuple(
    fc.array(fc.tuple(written, fc.constantFrom("ALLOW", "ALLOW", "DENY")), { minLength: 2, maxLength: 6 }),
    fc.tuple(written, fc.constantFrom("ALLOW", "DENY")),
    fc.nat(5),
  )
  .map(([rules, changed, at]) => {
    const set = (all: typeof rules) =>
      (["ALLOW", "DENY"] as const)
        .map(action =>
          policy(action.toLowerCase(), { action, rules: all.filter(one => one[1] === action).map(([rule]) => rule) }),
        )
        .filter(({ spec }) => (spec.rules ?? []).length > 0)
    return [set(rules), set(rules.map((rule, index) => (index === at % rules.length ? changed : rule)))] as const
  })

const requests: readonly Attributes[] = [
  "cluster.local/ns/n/sa/x",
  "old.td/ns/n/sa/x",
  "td/ns/m/sa/y",
  undefined,
].flatMap(peer => [
  tcpConnection(peer === undefined ? {} : { peer }),
  ...["/a", "/ab", "/abc", "/b", "/c/x", "/c/b", "/z"].flatMap(path =>
    ["GET", "POST"].map(method => httpRequest({ ...(peer === undefined ? {} : { peer }), target: path, method })),
  ),
])

it("leaves out only rules that match no differing request", { timeout: 180_000 * inject("effort") }, () => {
  let left = 0
  fc.assert(
    fc.property(sets, pair => {
      const closed = pair.map(set => set.some(({ spec }) => spec.action === "ALLOW"))
      // Rules may be left out only if everything else is equal.
      fc.pre(closed[0] === closed[1])
      const choice = relevantRules(pair[0], pair[1], mesh, new Budget())
      const full = pair.map(set => compile(set, workload, mesh))
      const less = pair.map(set => compile(set, workload, mesh, undefined, choice))
      const all = pair.flatMap(set => set.flatMap(one => (one.spec.rules ?? []).map(rule => [rule, one] as const)))
      if (choice !== undefined && all.some(([rule, one]) => !choice(rule, one))) left++
      for (const request of requests) {
        const verdicts = (programs: readonly Program[]) => programs.map(program => decide(program, request).verdict)
        const [was, is] = verdicts(full)
        if (choice === undefined) expect(was).toBe(is)
        else if (was !== is) expect(verdicts(less)).toEqual([was, is])
        else expect(new Set(verdicts(less)).size).toBe(1)
      }
    }),
    { numRuns: 200 * inject("effort"), interruptAfterTimeLimit: 60_000 * inject("effort") },
  )
  expect(left).toBeGreaterThan(0)
})

it("keeps a DENY rule about other paths, which still matches a TCP connection", () => {
  const other = policy("other", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/b"] } }] }] })
  const added = policy("added", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/a"] } }] }] })
  const verdicts = (documents: readonly AuthorizationPolicy[], request: Attributes) =>
    decide(compile(documents, workload, mesh), request).verdict
  expect(verdicts([other], tcpConnection())).toBe("deny")
  const { changes, undecided } = compareSets([other], [other, added], workload, mesh, { now: 1_000 })
  expect(changes.map(({ witness }) => witness.protocol)).toEqual(["http"])
  expect(undecided).toBeUndefined()
})

it("keeps templates with the same beginning", () => {
  const rules = (...paths: string[]) => [
    policy("p", { rules: paths.map(path => ({ to: [{ operation: { paths: [path] } }] })) }),
  ]
  const result = (before: string[], after: string[]) =>
    compareSets(rules(...before), rules(...after), workload, mesh, { now: 1_000 }).result
  expect(result(["/a/{*}"], ["/a/{*}", "/a/b"])).toBe("equal")
  expect(result(["/a/{**}", "/c"], ["/a/{**}", "/c", "/a/{*}/x"])).toBe("equal")
  expect(result(["/b/{*}"], ["/b/{*}", "/a/b"])).toBe("different")
})
