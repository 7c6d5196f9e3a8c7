// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { durationMilliseconds, parseDuration } from "./duration.js"

describe("a duration", () => {
  it.each([
    ["5s", 5_000_000_000n],
    ["500ms", 500_000_000n],
    ["1m30s", 90_000_000_000n],
    ["1.5h", 5_400_000_000_000n],
    [".5s", 500_000_000n],
    ["1.s", 1_000_000_000n],
    ["10us", 10_000n],
    ["10µs", 10_000n],
    ["1ns", 1n],
    ["-1s", -1_000_000_000n],
    ["+1s", 1_000_000_000n],
    ["0", 0n],
    ["0.0001ns", 0n],
  ])("`%s` is read", (text, nanoseconds) => {
    expect(parseDuration(text)).toBe(nanoseconds)
  })

  it.each(["", "5", "s", "5 s", "5S", "1d", ".s", "1s2", "--1s", "1e3s", `${"1".repeat(64)}s`])(
    "`%s` is none",
    text => {
      expect(parseDuration(text)).toBeUndefined()
    },
  )

  it("is given in milliseconds if validation limits it to them", () => {
    expect(durationMilliseconds("1m0.25s")).toBe(60_250)
  })
})
