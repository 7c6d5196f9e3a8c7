// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import type { StringMatch } from "./definition.js"
import { stringMatcher } from "./string-match.js"

it.each<[StringMatch, string, boolean]>([
  [{ exact: "a" }, "a", true],
  [{ exact: "a" }, "ab", false],
  [{ exact: "" }, "", true],
  [{ prefix: "a" }, "ab", true],
  [{ prefix: "a" }, "ba", false],
  [{ prefix: "" }, "", true],
  [{ regex: "a|bc" }, "bc", true],
  [{ regex: "a|bc" }, "a", true],
  [{ regex: "a|bc" }, "abc", false],
  [{ regex: "a" }, "ba", false],
  [{}, "", false],
])("%j on `%s` is %s", (match, value, expected) => {
  expect(stringMatcher(match)(value)).toBe(expected)
})
