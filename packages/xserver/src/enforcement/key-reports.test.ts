// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { KeyReports } from "./key-reports.js"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it("reports a missing key at once, and a flood of them once a second", () => {
  const received: string[][] = []
  const reports = new KeyReports(ids => received.push([...ids]))
  for (let n = 0; n < 10_000; n++) reports.add([n % 2 === 0 ? "a" : "b"])
  expect(received).toEqual([["a"]])
  vi.advanceTimersByTime(1_000)
  expect(received).toEqual([["a"], ["b", "a"]])
  vi.advanceTimersByTime(5_000)
  expect(received).toHaveLength(2)
  reports.add(["a"])
  expect(received).toHaveLength(3)
})
