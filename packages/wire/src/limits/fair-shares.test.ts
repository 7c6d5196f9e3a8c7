// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import { FairShares } from "./fair-shares.js"

/** How many each gets when all of them want everything and take turns. */
function divided(capacity: number, percent: number, callers: number): number[] {
  const shares = new FairShares(capacity, percent)
  const taken = Array<number>(callers).fill(0)
  for (let turn = 0; turn < capacity; turn++) {
    for (const [caller, count] of taken.entries()) {
      if (!shares.mayTake(String(caller))) continue
      shares.take(String(caller))
      taken[caller] = count + 1
    }
  }
  return taken
}

describe("callers who want everything", () => {
  test.each([
    [1_024, 50, [512]],
    [1_024, 75, [768]],
    [1_024, 100, [1_024]],
    [900, 50, [300, 300]],
    [1_000, 50, [250, 250, 250]],
    [1, 50, [1]],
    [10, 50, [2, 2, 2, 2]],
  ])("get of %d, by a share of %d percent, %j", (capacity, percent, expected) => {
    expect(divided(capacity, percent, expected.length)).toEqual(expected)
  })
})

it("always leaves something for one who holds nothing, while there are fewer greedy callers than places", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 200 }), fc.integer({ min: 1, max: 199 }), (capacity, greedy) => {
      const shares = new FairShares(capacity, 50)
      for (let turn = 0; turn < capacity; turn++) {
        for (let caller = 0; caller < greedy; caller++) if (shares.mayTake(String(caller))) shares.take(String(caller))
      }
      expect(shares.used).toBeLessThanOrEqual(capacity)
      if (greedy < capacity) expect(shares.mayTake("newcomer")).toBe(true)
    }),
  )
})

it("remembers nobody who holds nothing", () => {
  const shares = new FairShares(10, 50)
  for (const caller of ["a", "a", "b"]) shares.take(caller)
  for (const caller of ["a", "b", "a", "a"]) shares.release(caller)
  expect([shares.used, shares.callers]).toEqual([0, 0])
})
