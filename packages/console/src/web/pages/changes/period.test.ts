// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it, test } from "vitest"
import { addressValue, isSpan, isWithin, localValue, periodOf } from "./period.js"

const NOW = Date.parse("2026-05-02T12:00:00Z")
const DAY = 86_400_000

test.each([
  ["one day by default", null, null, { from: NOW - DAY, isCut: false }],
  ["a time span", "7d", null, { from: NOW - 7 * DAY, isCut: false }],
  ["one day if the address is invalid", "soon", "later", { from: NOW - DAY, isCut: false }],
  [
    "a start and an end",
    "2026-05-01T08:00:00Z",
    "2026-05-01T18:00:00Z",
    { from: NOW - DAY - 4 * 3_600_000, to: NOW - 18 * 3_600_000, isCut: false },
  ],
])("reads %s", (_, since, until, expected) => {
  expect(periodOf(since, until, NOW)).toEqual(expected)
})

describe("the start of the history", () => {
  it("shortens a period that begins earlier, and reports that", () => {
    expect(periodOf("24h", null, NOW, NOW - 1_000)).toEqual({ from: NOW - 1_000, isCut: true })
  })

  it("does not change a period that begins later", () => {
    expect(periodOf("1h", null, NOW, NOW - DAY)).toEqual({ from: NOW - 3_600_000, isCut: false })
  })
})

it("includes the start and the end of the period", () => {
  const period = { from: NOW - 1, to: NOW, isCut: false }
  const times = [NOW - 2, NOW - 1, NOW, NOW + 1].map(time => new Date(time).toISOString())
  expect(times.map(time => isWithin(period, time))).toEqual([false, true, true, false])
})

it("distinguishes time spans from timestamps", () => {
  expect([null, "24h", "2026-05-01T08:00:00Z"].map(isSpan)).toEqual([true, true, false])
})

it("reads back the time that it writes into a field, to the second", () => {
  expect(addressValue(localValue(NOW + 999))).toBe(new Date(NOW).toISOString())
  expect(addressValue("")).toBeUndefined()
})
