// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { compareKeys } from "./key-order.js"

it("orders keys by their bytes", () => {
  const key = fc.string({
    unit: fc.oneof(
      fc.constantFrom("/", "a", "z", "ｚ", "😀", "\u{10ffff}", "\uffff"),
      fc
        .nat(0x10_ff_ff)
        .filter(at => at < 0xd800 || at > 0xdfff)
        .map(at => String.fromCodePoint(at)),
    ),
  })
  fc.assert(
    fc.property(key, key, (a, b) => {
      expect(Math.sign(compareKeys(a, b))).toBe(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))))
    }),
  )
})
