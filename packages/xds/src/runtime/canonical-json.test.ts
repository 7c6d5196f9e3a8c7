// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { canonicalJson, contentVersion } from "./canonical-json.js"

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== "object" || value === null) return value
  // Without a prototype, so that `__proto__` is an ordinary name.
  const result: Record<string, unknown> = Object.create(null)
  for (const [name, field] of Object.entries(value).reverse()) result[name] = shuffled(field)
  return result
}

it("writes equal values the same, regardless of the order of fields", () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value))
      expect(contentVersion(shuffled(value))).toBe(contentVersion(value))
    }),
  )
})

it("writes JSON that parses to the same value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

it.each([
  [{ a: 1 }, { a: "1" }],
  [{ a: [1, 2] }, { a: [2, 1] }],
  [{ a: null }, {}],
  [[], {}],
  [{ ab: "c" }, { a: "bc" }],
])("distinguishes %j from %j", (one, other) => {
  expect(contentVersion(one)).not.toBe(contentVersion(other))
})

it("omits undefined fields, as JSON does", () => {
  expect(contentVersion({ a: 1, b: undefined })).toBe(contentVersion({ a: 1 }))
})
