// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { compareKeys } from "./key-order.js"

it("is the order of the keys' bytes", () => {
  const key = fc.string({
    unit: fc.oneof(
      fc.constantFrom("/", "a", "z", "ｚ", "😀", "\u{10ffff}", "\uffff"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    ),
  })
  fc.assert(
    fc.property(key, key, (a, b) => {
      expect(Math.sign(compareKeys(a, b))).toBe(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))))
    }),
  )
})
