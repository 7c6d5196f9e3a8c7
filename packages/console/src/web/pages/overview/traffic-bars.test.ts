// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { hourOf, stacksOf, sumOf } from "./traffic-bars.js"

const minute = (allowed: number, denied: number, time = "2026-01-01T00:00:00Z") => ({ time, allowed, denied })

it("stacks denied on allowed requests", () => {
  const { allowed, all } = stacksOf([minute(0, 0), minute(90, 10), minute(50, 50)])
  expect(allowed).toEqual([0, 90, 50])
  expect(all).toEqual([0, 100, 100])
})

it("draws one denied request among a million", () => {
  const { allowed, all } = stacksOf([minute(1_000_000, 1)])
  expect((all[0] ?? 0) - (allowed[0] ?? 0)).toBeGreaterThan(10_000)
})

it("spans an hour even with a single minute of data", () => {
  const [from, to] = hourOf(stacksOf([minute(1, 0, "2026-01-01T00:59:00Z")]))
  expect(to - from).toBe(3_600)
  expect(to * 1_000).toBe(Date.parse("2026-01-01T01:00:00Z"))
})

it("sums up minutes, to zero if there are none", () => {
  expect(sumOf([minute(1, 2), minute(3, 4)])).toEqual({ allowed: 4, denied: 6 })
  expect(sumOf([])).toEqual({ allowed: 0, denied: 0 })
})
