// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest"
import { hostComparedAs, hostPatternWithoutDot, withoutTrailingDot } from "./host.js"

describe("in a request's host", () => {
  test.each([
    ["a.example.", "a.example"],
    ["a.example.:8080", "a.example:8080"],
    ["a.example.:", "a.example:"],
    ["a.", "a"],
    ["a.example..", "a.example."],
  ])("one trailing dot is ignored: %s", (host, compared) => {
    expect(withoutTrailingDot(host)).toBe(compared)
  })

  test.each(["a.example", "a.example:8080", ".", ".:80", "", "[::1]", "[::1].", "a.example.:80a", "a:80."])(
    "nothing is ignored: %s",
    host => {
      expect(withoutTrailingDot(host)).toBe(host)
    },
  )
})

test.each(["a.example", "a.", "a.:80", "..", "..:", ".", "a:80.", "a.example.."])(
  "%s is what is left of a host",
  compared => {
    expect(withoutTrailingDot(hostComparedAs(compared))).toBe(compared)
  },
)

describe("in a rule's value", () => {
  test.each([
    ["a.example.", "a.example"],
    ["*.example.", "*.example"],
    ["a.example.:8080", "a.example:8080"],
    ["a.example.:*", "a.example:*"],
    ["*.example.:8080", "*.example:8080"],
  ])("one trailing dot is ignored: %s", (value, compared) => {
    expect(hostPatternWithoutDot(value)).toBe(compared)
  })

  // `*.` must not become `*`: an ALLOW would match every host.
  test.each(["*", "*.", ".", "a.example", "a.example.*", "*.:80"])("nothing is ignored: %s", value => {
    expect(hostPatternWithoutDot(value)).toBe(value)
  })
})
