// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { eventOf } from "./watch-event.js"

it("reads an event", () => {
  expect(eventOf('{"type":"ADDED","object":{"a":1}}')).toEqual({ type: "ADDED", object: { a: 1 } })
})

it.each(["<html>", "{}", "null", '{"type":"SIGN_IN"}'])("takes `%s` for none", line => {
  expect(() => eventOf(line)).toThrow(/no watch event/)
})
