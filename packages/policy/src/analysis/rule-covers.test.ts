// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { attributeTable } from "../authorization/attributes.js"
import { compileRule } from "../authorization/rule.js"
import { from, to, when } from "../authorization/testing/judging.js"
import { meshConfig } from "../mesh/config.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import { scopeContains } from "./policy-set.js"
import { ruleCovers } from "./rule-covers.js"
import { finish, Work } from "./work.js"

const mesh = meshConfig()
const compiled = (rule: Rule) => compileRule({ namespace: "foo", name: "p" }, 0, rule, mesh, attributeTable(new Set()))
const covers = (wide: Rule, narrow: Rule, work = new Work()) =>
  finish(ruleCovers(compiled(wide), compiled(narrow), work))

describe("one rule covers another", () => {
  const either: Rule = { to: [{ operation: { paths: ["/a"] } }, { operation: { methods: ["GET"] } }] }
  const tier = (values: string[]) => when("request.headers[x]", { values })

  test.each<[string, Rule, Rule, boolean]>([
    ["everything", {}, to({ paths: ["/a"] }), true],
    ["nothing less than everything", to({ paths: ["/a"] }), {}, false],
    ["itself", to({ paths: ["/a"] }), to({ paths: ["/a"] }), true],
    ["more values", to({ paths: ["/a", "/b"] }), to({ paths: ["/a"] }), true],
    ["fewer values", to({ paths: ["/a"] }), to({ paths: ["/a", "/b"] }), false],
    ["fewer exclusions", to({ notPaths: ["/a"] }), to({ notPaths: ["/a", "/b"] }), true],
    ["more exclusions", to({ notPaths: ["/a", "/b"] }), to({ notPaths: ["/a"] }), false],
    ["a wider exclusion", to({ notPaths: ["/a*"] }), to({ notPaths: ["/a"] }), false],
    ["a narrower exclusion", to({ notPaths: ["/a"] }), to({ notPaths: ["/a*"] }), true],
    ["an exclusion where a value is wanted", to({ notPaths: ["/a"] }), to({ paths: ["/b"] }), false],
    ["fewer fields", to({ paths: ["/a"] }), to({ paths: ["/a"], methods: ["GET"] }), true],
    ["more fields", to({ paths: ["/a"], methods: ["GET"] }), to({ paths: ["/a"] }), false],
    ["another field", from({ namespaces: ["a"] }), from({ trustDomains: ["a"] }), false],
    ["one more alternative", either, to({ paths: ["/a"] }), true],
    ["one alternative less", to({ paths: ["/a"] }), either, false],
    [
      "a condition in place of a field",
      from({ namespaces: ["a*"] }),
      when("source.namespace", { values: ["ab"] }),
      true,
    ],
    [
      "a field in place of a condition",
      when("source.namespace", { values: ["a*"] }),
      from({ namespaces: ["ab"] }),
      false,
    ],
    [
      "fewer conditions",
      tier(["a*"]),
      { when: [...(tier(["ab"]).when ?? []), { key: "source.ip", values: ["::1"] }] },
      true,
    ],
  ])("with %s", (_, wide, narrow, expected) => {
    expect(covers(wide, narrow)).toBe(expected)
  })

  it("and returns false once the budget is exhausted", () => {
    expect(covers(to({ paths: ["/a"] }), to({ paths: ["/a"] }), new Work(1))).toBe(false)
  })
})

test.each([
  ["the mesh contains a namespace", undefined, {}, "foo", {}, true],
  ["a namespace does not contain the mesh", "foo", {}, undefined, {}, false],
  ["a namespace does not contain another", "foo", {}, "bar", {}, false],
  ["no labels contain labels", "foo", {}, "foo", { app: "a" }, true],
  ["labels do not contain none", "foo", { app: "a" }, "foo", {}, false],
  ["labels contain the same and more", undefined, { app: "a" }, "foo", { app: "a", tier: "b" }, true],
  ["labels do not contain others", "foo", { app: "a" }, "foo", { app: "b" }, false],
])("%s", (_, outer, outerLabels, inner, innerLabels, expected) => {
  expect(
    scopeContains({ namespace: outer, labels: { ...outerLabels } }, { namespace: inner, labels: { ...innerLabels } }),
  ).toBe(expected)
})
