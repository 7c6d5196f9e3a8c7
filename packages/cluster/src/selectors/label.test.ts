// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  matchesLabels,
  parseLabelSelector,
  printSelector,
  type Requirement,
  SelectorError,
  selectorFromObject,
} from "./label.js"

const web = { app: "web", tier: "front", n: "5" }

describe("parseLabelSelector", () => {
  it.each([
    ["", true],
    ["app=web", true],
    ["app==web,tier!=back", true],
    ["app in (web, db)", true],
    ["app notin (web)", false],
    ["missing notin (x)", true],
    ["app", true],
    ["!app", false],
    ["!missing", true],
    ["n>4", true],
    ["n<5", false],
    ["app>1", false],
    [" app = web ", true],
  ])("%j matches: %s", (text, expected) => expect(matchesLabels(parseLabelSelector(text), web)).toBe(expected))

  it.each(["app in web", "=x", "a,,b", "app=a b", "app in (", "-bad=x", "app>x", "app=bad value!", "!", "a in"])(
    "rejects %j",
    text => {
      expect(() => parseLabelSelector(text)).toThrow(SelectorError)
    },
  )

  it("parses its own output", () => {
    const key = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/).filter(text => text !== "in" && text !== "notin")
    const value = fc.stringMatching(/^[a-z0-9]{1,5}$/)
    const requirement: fc.Arbitrary<Requirement> = fc.oneof(
      fc.record({ key, operator: fc.constantFrom("=" as const, "!=" as const), values: fc.tuple(value) }),
      fc.record({
        key,
        operator: fc.constantFrom("in" as const, "notin" as const),
        values: fc.uniqueArray(value, { minLength: 1, maxLength: 3 }).map(list => list.sort()),
      }),
      fc.record({ key, operator: fc.constantFrom("exists" as const, "!" as const), values: fc.constant([]) }),
    )
    fc.assert(
      fc.property(fc.uniqueArray(requirement, { selector: item => item.key, maxLength: 4 }), requirements => {
        const sorted = [...requirements].sort((a, b) => (a.key < b.key ? -1 : 1))
        expect(parseLabelSelector(printSelector(sorted))).toEqual(sorted)
      }),
    )
  })
})

describe("selectorFromObject", () => {
  it("selects nothing when absent and everything when empty", () => {
    expect(selectorFromObject(undefined)).toBeUndefined()
    expect(matchesLabels(selectorFromObject({}) ?? [], web)).toBe(true)
  })

  it("combines labels and expressions", () => {
    const selector =
      selectorFromObject({
        matchLabels: { app: "web" },
        matchExpressions: [
          { key: "tier", operator: "In", values: ["front"] },
          { key: "x", operator: "DoesNotExist" },
        ],
      }) ?? []
    expect(matchesLabels(selector, web)).toBe(true)
    expect(matchesLabels(selector, { ...web, x: "1" })).toBe(false)
  })
})
