// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { heightsOf, sumOf } from "./traffic-bars.js"

const minute = (allowed: number, refused: number) => ({ time: "", allowed, refused })

it("fills the room with the busiest minute and goes over it nowhere", () => {
  const bars = heightsOf([minute(0, 0), minute(90, 10), minute(50, 50), minute(1_000, 0)], 20)
  expect(Math.max(...bars.map(({ allowed, refused }) => allowed + refused))).toBeLessThanOrEqual(20)
  expect(bars[0]).toEqual({ allowed: 0, refused: 0 })
  expect(bars[3]).toEqual({ allowed: 19, refused: 0 })
})

it("shows one denied call among a million", () => {
  expect(heightsOf([minute(1_000_000, 1)], 20)[0]?.refused).toBeGreaterThanOrEqual(1)
})

it("sums up, and of nothing nothing", () => {
  expect(sumOf([minute(1, 2), minute(3, 4)])).toEqual({ allowed: 4, refused: 6 })
  expect(sumOf([])).toEqual({ allowed: 0, refused: 0 })
  expect(heightsOf([], 20)).toEqual([])
})
