// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it, test } from "vitest"
import { oneLine, someOf } from "./one-line.js"

test.each([
  ["plain words", "plain words"],
  ["two\r\nlines", "two lines"],
  ["\u001b[31mred\u001b[0m", "[31mred [0m"],
  ["a\u202eb", "a b"],
  ["x".repeat(300), `${"x".repeat(200)}…`],
])("%j becomes %j", (text, expected) => {
  expect(oneLine(text)).toBe(expected)
})

const anyCharacter = fc
  .nat(0x10_ff_ff)
  .filter(at => at < 0xd800 || at > 0xdfff)
  .map(at => String.fromCodePoint(at))

it("returns one short line for any input", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 2_000 }), text => {
      const line = oneLine(text, 50)
      expect(line.length).toBeLessThanOrEqual(51)
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
    }),
  )
})

test.each<[string[], number, string]>([
  [[], 0, ""],
  [["a"], 1, "a"],
  [["a", "b"], 2, "a and b"],
  [["a", "b", "c"], 3, "a, b and 1 more"],
  [["a", "b"], 9, "a, b and 7 more"],
])("%j of %i reads %j", (names, total, expected) => {
  expect(someOf(names, total)).toBe(expected)
})
