// SPDX-License-Identifier: Apache-2.0

import { expect, it } from "vitest"
import { isWider } from "./widening.js"

it.each([
  ["deny", "allow", true],
  ["custom", "allow", true],
  ["deny", "custom", true],
  ["allow", "custom", false],
  ["custom", "custom", false],
  ["allow", "unauthenticated", false],
])("decides whether a change from %s to %s widens access: %s", (from, to, expected) => {
  expect(isWider({ from, to })).toBe(expected)
})
