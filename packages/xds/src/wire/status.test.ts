// SPDX-License-Identifier: Apache-2.0
import { status } from "@grpc/grpc-js"
import { expect, it, test } from "vitest"
import { messageText, STATUS } from "./status.js"

it("has the same codes as grpc-js", () => {
  for (const [name, code] of Object.entries(STATUS)) expect(status[code]).toBe(name)
})

test.each([
  ["plain text unchanged", "the pod `shop/a` is gone; ask again", "the pod `shop/a` is gone; ask again"],
  ["other characters percent-encoded", "für 100 %\n", "f%C3%BCr 100 %25%0A"],
])("writes %s", (_, message, expected) => {
  expect(messageText(message)).toBe(expected)
  expect(decodeURIComponent(expected)).toBe(message)
})
