// SPDX-License-Identifier: Apache-2.0
//
// Which rule allows which request, and which rules cover which others. A property test compares the two: a user whose
// rules cover a rule may do whatever it allows.

import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { catalog, granted, stored } from "../testing/stored.js"
import { type Attributes, allows, Rbac, type Rule, uncovered } from "./rbac.js"

const rule = (parts: Partial<Rule>): Rule => ({
  ...{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: [], nonResourceURLs: [] },
  ...parts,
})
const get = (parts: Partial<Extract<Attributes, { resource: string }>> = {}): Attributes => ({
  ...{ verb: "get", group: "", version: "v1", resource: "pods", subresource: "", namespace: "shop", name: "a" },
  ...parts,
})

describe("a rule", () => {
  it.each<[string, Rule, Attributes, boolean]>([
    ["allows the request that it names", rule({}), get(), true],
    ["does not allow other verbs", rule({}), get({ verb: "delete" }), false],
    ["does not allow other groups", rule({}), get({ group: "apps" }), false],
    ["does not allow a subresource if it names only the resource", rule({}), get({ subresource: "log" }), false],
    ["allows a subresource by its name", rule({ resources: ["pods/log"] }), get({ subresource: "log" }), true],
    ["does not allow the resource if it names a subresource", rule({ resources: ["pods/log"] }), get(), false],
    ["allows a subresource of any resource", rule({ resources: ["*/scale"] }), get({ subresource: "scale" }), true],
    ["of all resources includes subresources", rule({ resources: ["*"] }), get({ subresource: "log" }), true],
    ["with a name allows that object", rule({ resourceNames: ["a"] }), get(), true],
    ["with a name does not allow other objects", rule({ resourceNames: ["a"] }), get({ name: "b" }), false],
    [
      "with a name does not allow a list",
      rule({ verbs: ["list"], resourceNames: ["a"] }),
      get({ verb: "list", name: "" }),
      false,
    ],
    [
      "of paths with `*` allows the paths below",
      rule({ nonResourceURLs: ["/healthz/*"] }),
      { path: "/healthz/ping", verb: "get" },
      true,
    ],
    [
      "of paths with `*` does not allow other paths",
      rule({ nonResourceURLs: ["/healthz"] }),
      { path: "/healthz/ping", verb: "get" },
      false,
    ],
    [
      "of resources does not allow a path",
      rule({ resources: ["*"], apiGroups: ["*"] }),
      { path: "/metrics", verb: "get" },
      false,
    ],
  ])("%s", (_, own, attributes, want) => expect(allows(own, attributes)).toBe(want))

  it("is covered only by rules that allow everything it allows", () => {
    const some = (...values: string[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 })
    const rules = fc.array(
      fc.record({
        verbs: some("*", "get", "list"),
        apiGroups: some("*", "", "apps"),
        resources: some("*", "pods", "pods/log", "*/log"),
        resourceNames: fc.uniqueArray(fc.constantFrom("a", "b"), { maxLength: 2 }),
        nonResourceURLs: fc.constant<string[]>([]),
      }),
      { maxLength: 3 },
    )
    const request = fc.record({
      ...{ verb: fc.constantFrom("get", "list", "patch"), group: fc.constantFrom("", "apps", "batch") },
      ...{ resource: fc.constantFrom("pods", "jobs"), subresource: fc.constantFrom("", "log", "scale") },
      ...{ name: fc.constantFrom("", "a", "b", "c"), version: fc.constant("v1"), namespace: fc.constant("shop") },
    })
    fc.assert(
      fc.property(rules, rules, request, (held, wanted, attributes) => {
        if (uncovered(held, wanted).length > 0 || !wanted.some(own => allows(own, attributes))) return
        expect(held.some(own => allows(own, attributes))).toBe(true)
      }),
      { numRuns: 2000 * inject("effort") },
    )
  })
})

describe("a binding", () => {
  const rbac = new Rbac(
    stored([
      ...granted("cluster-wide", "wide", [{ verbs: ["get"], resources: ["pods"] }]),
      ...granted("local", "here", [{ verbs: ["get"], resources: ["pods"] }], "shop"),
    ]),
    catalog,
  )
  it.each<[string, string, string, boolean]>([
    ["for the cluster applies in every namespace", "cluster-wide", "bank", true],
    ["of a namespace applies there", "local", "shop", true],
    ["of a namespace does not apply in others", "local", "bank", false],
    ["of a namespace does not apply to requests for all namespaces", "local", "", false],
    ["of another user has no effect", "stranger", "shop", false],
  ])("%s", async (_, name, namespace, want) => {
    const user = { name, uid: "", groups: ["system:authenticated"], extra: {} }
    expect((await rbac.authorize(user, get({ namespace }))).allowed).toBe(want)
  })
})
