// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { attributeTable } from "../../authorization/attributes.js"
import { PLAIN_ATTRIBUTES, parseConditionKey } from "./condition-key.js"

const conditionAttribute = (key: string) => attributeTable(new Set()).condition(key)

describe("a condition key", () => {
  it.each([
    ["source.ip", { attribute: "source.ip" }],
    ["request.headers[X-Tier]", { attribute: "request.headers", name: "x-tier" }],
    ["request.headers[:authority]", { attribute: "request.headers", name: ":authority" }],
    ["request.auth.claims[a]", { attribute: "request.auth.claims", path: ["a"] }],
    ["request.auth.claims[a][b]", { attribute: "request.auth.claims", path: ["a", "b"] }],
    ["request.auth.claims[example.com/x]", { attribute: "request.auth.claims", path: ["example.com/x"] }],
    ["request.auth.claims[a[b]]", { attribute: "request.auth.claims", path: ["a[b]"] }],
    ["request.auth.claims[a]x[b]", { attribute: "request.auth.claims", path: ["a]x[b"] }],
  ])("`%s` is read", (key, expected) => {
    expect(parseConditionKey(key)).toEqual(expected)
  })

  it.each([
    "",
    "source",
    "request.headers[]",
    "request.headers[:foo]",
    "request.auth.claims",
    "__proto__",
    "constructor",
  ])("`%s` is rejected", key => {
    expect(parseConditionKey(key)).toHaveProperty("problem")
  })

  it("is known to the evaluator exactly if it is accepted", () => {
    for (const key of PLAIN_ATTRIBUTES) expect(conditionAttribute(key)?.name).toBe(key)
    for (const key of ["request.headers[a]", "request.auth.claims[a][b]", "request.auth.claims[a[b]]", "source.ip"]) {
      expect(conditionAttribute(key)).toBeDefined()
    }
    for (const key of ["request.headers", "request.headers[]", "request.auth.claims[a", "source.ips", ""]) {
      expect(parseConditionKey(key)).toHaveProperty("problem")
      expect(conditionAttribute(key)).toBeUndefined()
    }
  })
})
