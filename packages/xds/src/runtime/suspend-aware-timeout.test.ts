// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { suspendAwareTimeout } from "./suspend-aware-timeout.js"

let clock = 0
let over = 0
const now = (): number => clock

/** Advances the timers and the clock together. */
function live(milliseconds: number): void {
  for (let passed = 0; passed < milliseconds; passed++) {
    clock++
    vi.advanceTimersByTime(1)
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  clock = 0
  over = 0
})
afterEach(() => vi.useRealTimers())

it("fires after its time", () => {
  suspendAwareTimeout(1_000, () => over++, now)
  live(999)
  expect(over).toBe(0)
  live(10)
  expect(over).toBe(1)
  live(5_000)
  expect(over).toBe(1)
})

it("does not count time in which the process was stopped", () => {
  suspendAwareTimeout(1_000, () => over++, now)
  for (const lived of [50, 500, 440]) {
    live(lived)
    clock += 60_000
  }
  live(200)
  expect(over).toBe(0)
  live(400)
  expect(over).toBe(1)
})

it("can be cancelled", () => {
  const stop = suspendAwareTimeout(1_000, () => over++, now)
  live(950)
  stop()
  live(5_000)
  expect(over).toBe(0)
})
