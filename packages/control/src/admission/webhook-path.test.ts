// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import { openPath, registeredPath } from "./webhook-path.js"

const HOUR = 3_600_000
const NOW = 1_000 * HOUR + 5
const SECRET = Buffer.alloc(32, 1)
const OTHER = Buffer.alloc(32, 2)

it("registers a path whose segments are DNS names", () => {
  const path = registeredPath(SECRET, "/validate/pods", NOW)
  expect(path).toMatch(/^\/[a-z0-9]{64}\/validate\/pods$/)
})

test.each([
  ["of the current hour", NOW, SECRET, "/validate"],
  ["of the previous hour", NOW - HOUR, SECRET, "/validate"],
  ["of the next hour, by another clock", NOW + HOUR, SECRET, "/validate"],
  ["of two hours ago", NOW - 2 * HOUR, SECRET, undefined],
  ["made with another secret", NOW, OTHER, undefined],
])("checks a path %s", (_, at, secret, expected) => {
  expect(openPath([SECRET], registeredPath(secret, "/validate", at), NOW)).toBe(expected)
})

test.each(["/validate", "/", "", `/${"0".repeat(64)}/validate`, `/${"0".repeat(62)}/validate`])(
  "`%s` is not accepted",
  path => {
    expect(openPath([SECRET], path, NOW)).toBeUndefined()
  },
)

it("accepts the secret from before a rotation", () => {
  expect(openPath([OTHER, SECRET], registeredPath(SECRET, "/inject", NOW), NOW)).toBe("/inject")
})
