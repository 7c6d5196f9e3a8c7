// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { canonicalQuantity, parseQuantity } from "./quantity.js"

it.each([
  ["0.5", "500m"],
  ["1000m", "1"],
  ["64Mi", "64Mi"],
  ["1024Ki", "1Mi"],
  ["1.5Gi", "1536Mi"],
  ["100k", "100k"],
  ["1e3", "1e3"],
  ["0", "0"],
  ["1500", "1500"],
  ["-2", "-2"],
])("prints %s as %s", (text, expected) => expect(canonicalQuantity(text)).toBe(expected))

it.each(["lots", "1 Gi", "", "1.2.3", "Mi", "1GiB"])("rejects %j", text =>
  expect(canonicalQuantity(text)).toBeUndefined(),
)

it("is canonical after one conversion and keeps the amount", () => {
  const suffix = fc.constantFrom("", "m", "k", "M", "Ki", "Mi", "Gi")
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e9 }), suffix, (number, unit) => {
      const text = `${number}${unit}`
      const canonical = canonicalQuantity(text) ?? ""
      expect(canonicalQuantity(canonical)).toBe(canonical)
      expect(parseQuantity(canonical)?.nano).toBe(parseQuantity(text)?.nano)
    }),
  )
})
