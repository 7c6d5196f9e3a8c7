// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, inject, it, test } from "vitest"
import { exceedsJson } from "./json-bounds.js"

test.each<[string, string, number, number, boolean]>([
  ["an object within both", '{"a":[1,2]}', 2, 6, false],
  ["one level too deep", "[[[]]]", 2, 100, true],
  ["one value too many", "[1,2,3]", 9, 3, true],
  ["brackets and commas in a string", '["[[[[,,,,:::"]', 1, 2, false],
  ["escaped quotes", '["\\"[[[","\\\\"]', 1, 3, false],
  ["a text that ends in a string", '["a', 1, 2, false],
])("measures %s", (_, text, depth, values, expected) => {
  expect(exceedsJson(Buffer.from(text), { depth, values })).toBe(expected)
})

it("never counts less than a parser creates", () => {
  const counted = (value: unknown): number =>
    typeof value !== "object" || value === null
      ? 1
      : 1 + Object.values(value).reduce<number>((sum, one) => sum + counted(one), 0)
  const deep = (value: unknown): number =>
    typeof value !== "object" || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(deep))
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
      const bytes = Buffer.from(JSON.stringify(value))
      const generous = { depth: 1_000, values: 1_000_000 }
      if (deep(value) > 0) expect(exceedsJson(bytes, { ...generous, depth: deep(value) - 1 })).toBe(true)
      expect(exceedsJson(bytes, { ...generous, values: counted(value) - 1 })).toBe(true)
      expect(exceedsJson(bytes, generous)).toBe(false)
    }),
    { numRuns: 300 * inject("effort") },
  )
})
