// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import { Quota } from "./quota.js"

/** How many each caller gets when all of them want everything and take turns. */
function divided(capacity: number, percent: number, callers: number): number[] {
  const shares = new Quota({ all: capacity, sharePercent: percent })
  const taken = Array<number>(callers).fill(0)
  for (let turn = 0; turn < capacity; turn++) {
    for (const [caller, count] of taken.entries()) {
      if (!shares.take(String(caller))) continue
      taken[caller] = count + 1
    }
  }
  return taken
}

describe("greedy callers", () => {
  test.each([
    [1_024, 50, [512]],
    [1_024, 75, [768]],
    [1_024, 100, [1_024]],
    [900, 50, [300, 300]],
    [1_000, 50, [250, 250, 250]],
    [1, 50, [1]],
    [10, 50, [2, 2, 2, 2]],
  ])("get, of %d with a share of %d percent, %j", (capacity, percent, expected) => {
    expect(divided(capacity, percent, expected.length)).toEqual(expected)
  })
})

it("leaves a slot for a new caller while greedy callers are fewer than slots", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 200 }), fc.integer({ min: 1, max: 199 }), (capacity, greedy) => {
      const shares = new Quota({ all: capacity, sharePercent: 50 })
      for (let turn = 0; turn < capacity; turn++) {
        for (let caller = 0; caller < greedy; caller++) shares.take(String(caller))
      }
      expect(shares.used).toBeLessThanOrEqual(capacity)
      if (greedy < capacity) expect(shares.mayTake("newcomer")).toBe(true)
    }),
  )
})

it("forgets callers that hold nothing", () => {
  const shares = new Quota({ all: 10, sharePercent: 50 })
  for (const caller of ["a", "a", "b"]) shares.add(caller)
  for (const caller of ["a", "b", "a", "a"]) shares.release(caller)
  expect([shares.used, shares.owners]).toEqual([0, 0])
})

it("gives no owner more than its bound, and keeps a reserve for the system", () => {
  const quota = new Quota({ all: 10, each: 4, kept: 3 })
  expect([quota.take("a", 4), quota.take("a"), quota.take("b", 3), quota.take("c")]).toEqual([true, false, true, false])
  expect([quota.take("kubelet", 3, true), quota.take("kubelet", 1, true)]).toEqual([true, false])
  quota.release("a", 4)
  expect([quota.used, quota.take("c", 4)]).toEqual([6, false])
  expect(quota.take("c")).toBe(true)
})
