// SPDX-License-Identifier: Apache-2.0
// The caller that a witness names if several are possible.

import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { policy } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { PolicyInvariant } from "../resources/document.js"
import { assessChange } from "./questions/assess-change.js"
import { compareSets } from "./questions/compare.js"
import { checkInvariants } from "./questions/invariants.js"
import { reachOf } from "./questions/reach.js"
import { anyIssuer, pairs, mesh as trustingMesh } from "./testing/sets.js"
import { callersAmong, type ProofWorkload } from "./workload.js"

const mesh = meshConfig()
const workload = { namespace: "foo", name: "web-1", labels: {}, serviceAccount: "web" }
const id = (namespace: string, account: string): string => `cluster.local/ns/${namespace}/sa/${account}`
const ADMIN = [{ operation: { paths: ["/admin/*"] } }]
const closed = policy("closed", { rules: [{ to: [{ operation: { paths: ["/"] } }] }] })
const runs = (namespace: string, serviceAccount: string): ProofWorkload => ({
  ...{ namespace, serviceAccount, name: `${serviceAccount}-1`, labels: {} },
})

function callersOf(rules: readonly Rule[], callers: readonly string[], denied: readonly Rule[] = []) {
  const deny = denied.length === 0 ? [] : [policy("deny", { action: "DENY", rules: denied })]
  const { changes } = compareSets([closed, ...deny], [closed, ...deny, policy("p", { rules })], workload, mesh, {
    ...{ now: 1_000, callers },
  })
  return changes.map(({ witness }) => witness.principal)
}

describe("a witness", () => {
  it("names a running caller, if any caller would do", () => {
    expect(callersOf([{ to: ADMIN }], [id("app", "consumer")])).toEqual([id("app", "consumer")])
    expect(callersOf([{ to: ADMIN }], [])).toEqual([id("default", "default")])
  })

  it("names the workload itself only if no other caller would do", () => {
    expect(callersOf([{ to: ADMIN }], [id("foo", "web"), id("zoo", "keeper")])).toEqual([id("zoo", "keeper")])
    expect(callersOf([{ to: ADMIN }], [id("foo", "web")])).toEqual([id("foo", "web")])
  })

  it("names a caller that any of the rule's values matches", () => {
    const from = [{ source: { principals: [id("a", "*"), id("b", "*")] } }]
    expect(callersOf([{ from, to: ADMIN }], [id("app", "consumer"), id("b", "x")])).toEqual([id("b", "x")])
    const outside = [{ source: { notNamespaces: ["app"] } }]
    expect(callersOf([{ from: outside, to: ADMIN }], [id("app", "consumer"), id("b", "x")])).toEqual([id("b", "x")])
  })

  it("is otherwise the request that was found", () => {
    const seen = {
      from: [{ source: { principals: [id("app", "consumer")] } }],
      to: [{ operation: { methods: ["GET"] } }],
    }
    const after = [policy("seen", { rules: [seen] })]
    const options = { now: 1_000, callers: [id("app", "consumer"), id("app", "web")] }
    const [change] = compareSets([], after, workload, mesh, options).changes
    expect(change?.witness).toMatchObject({ principal: id("app", "web"), method: "GET", path: "/" })
  })

  it("names no running caller that is excluded or does not match the rule", () => {
    const denied = [{ from: [{ source: { principals: [id("app", "consumer")] } }] }]
    expect(callersOf([{ to: ADMIN }], [id("app", "consumer")], denied)).toEqual([id("default", "default")])
    const from = [{ source: { namespaces: ["ops"] } }]
    expect(callersOf([{ from, to: ADMIN }], [id("app", "consumer")])[0]).toMatch(/^[^/]+\/ns\/ops\/sa\//)
  })

  it("finds the one caller among ten thousand that shows it", () => {
    const many = Array.from({ length: 10_000 }, (_, n) => id(`ns-${n}`, "default"))
    const from = [{ source: { namespaces: ["ns-7777", "ns-none"] } }]
    expect(callersOf([{ from, to: ADMIN }], many)).toEqual([id("ns-7777", "default")])
  })

  it("does not depend on the order of the workloads", () => {
    const some = [runs("b", "x"), runs("a", "y"), runs("b", "x"), { namespace: "c", name: "unknown", labels: {} }]
    expect(callersAmong(some, mesh)).toEqual([id("a", "y"), id("b", "x")])
    expect(callersAmong(some.toReversed(), mesh)).toEqual(callersAmong(some, mesh))
  })
})

it("names running callers for invariants and reachability too", () => {
  const options = { now: 1_000, callers: [id("app", "consumer")] }
  const invariant: PolicyInvariant = {
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "PolicyInvariant",
    metadata: { name: "i", namespace: "foo" },
    spec: { never: [{ name: "nobody", to: ADMIN }] },
  }
  expect(checkInvariants([invariant], [], [workload], mesh, options)[0]?.result).toMatchObject({
    witness: { principal: id("app", "consumer") },
  })
  expect(reachOf([], workload, mesh, {}, options).ways[0]?.witness.principal).toBe(id("app", "consumer"))
})

describe("a policy author sees only callers", () => {
  const all = [workload, runs("foo", "api"), runs("far", "away")]
  const invariant = (namespace: string): PolicyInvariant => ({
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "PolicyInvariant",
    metadata: { name: "i", namespace },
    spec: { never: [{ name: "nobody", from: [{ source: { notNamespaces: ["foo"] } }], to: ADMIN }] },
  })
  const resultOf = (namespace: string): string => {
    const rules = [{ to: ADMIN }]
    const after = { ...policy("open", { rules }), metadata: { name: "open", namespace } }
    const documents = [closed, invariant(namespace)]
    const { rejections } = assessChange({ documents, before: undefined, after }, all, mesh, {
      ...{ now: 1_000, limits: { steps: 1_000_000 } },
    })
    return rejections.join()
  }

  it("of the policy's own namespace", () => {
    expect(resultOf("foo")).toContain("GET /admin/ from")
    expect(resultOf("foo")).not.toContain("far")
  })

  it("of all namespaces, for a policy in the root namespace", () => {
    expect(resultOf(mesh.names.rootNamespace)).toContain(id("far", "away"))
  })
})

it("finds the same changes with and without running callers", { timeout: 180_000 * inject("effort") }, () => {
  const target = { namespace: "foo", name: "web-1", labels: { app: "web" }, serviceAccount: "web" }
  const callers = ["a.td/ns/foo/sa/a", id("foo", "a"), id("bar", "b"), "old.td/ns/foo/sa/web"].sort()
  const limits = { steps: 300_000 }
  fc.assert(
    fc.property(pairs, ([old, young]) => {
      const sets = [
        [anyIssuer, ...old],
        [anyIssuer, ...young],
      ] as const
      const bare = compareSets(...sets, target, trustingMesh, { limits, now: 1_000 })
      const named = compareSets(...sets, target, trustingMesh, { limits, now: 1_000, callers })
      const resultOf = ({ changes, ...rest }: typeof bare) => ({
        ...rest,
        changes: changes.map(({ from, to, region }) => ({ from, to, region })),
      })
      expect(resultOf(named)).toEqual(resultOf(bare))
    }),
    { numRuns: 20 * inject("effort") },
  )
})
