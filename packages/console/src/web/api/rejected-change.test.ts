// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { ApiError } from "./client.js"
import { isRejectedChange, messageOf } from "./rejected-change.js"

const BROKEN = 'admission webhook "policies.merlon.dev" denied the request: `no deletes` would not hold'
const FORBIDDEN = 'authorizationpolicies is forbidden: User "a" cannot create resource "authorizationpolicies"'

test.each([
  ["a broken invariant", new ApiError(403, "Forbidden", BROKEN), true, "`no deletes` would not hold"],
  ["a missing right", new ApiError(403, "Forbidden", FORBIDDEN), false, FORBIDDEN],
  ["another rejection", new ApiError(422, "Invalid", BROKEN), false, BROKEN],
  ["an error of the page", new Error(BROKEN), false, BROKEN],
])("%s", (_, error, isRejected, message) => {
  expect(isRejectedChange(error)).toBe(isRejected)
  expect(messageOf(error)).toBe(message)
})
