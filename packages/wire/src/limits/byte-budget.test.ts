// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { ByteBudget, type ByteHolder } from "./byte-budget.js"

class Holder implements ByteHolder {
  heldBytes = 0
  heldSince = 0
  evicted = false

  evict(): void {
    this.evicted = true
  }
}

function crowd(limit: number) {
  let time = 0
  const budget = new ByteBudget(limit, () => time)
  const holders: Holder[] = []
  const add = (bytes: number): Holder => {
    const holder = new Holder()
    holders.push(holder)
    budget.setHeld(holder, bytes)
    return holder
  }
  const pass = (ms: number) => {
    time += ms
  }
  return { budget, holders, add, pass }
}

it("evicts no holder while all fit", () => {
  const { budget, holders, add } = crowd(1_000)
  for (let n = 0; n < 10; n++) add(100)
  expect(budget.used).toBe(1_000)
  expect(holders.some(({ evicted }) => evicted)).toBe(false)
})

it("evicts the largest of holders that started together", () => {
  const { holders, add } = crowd(1_000)
  for (const bytes of [100, 700, 100, 150]) add(bytes)
  expect(holders.map(({ evicted }) => evicted)).toEqual([false, true, false, false])
})

it("evicts the oldest of holders that hold the same amount", () => {
  const { holders, add, pass } = crowd(1_000)
  for (let n = 0; n < 11; n++) {
    add(100)
    pass(10)
  }
  expect(holders.map(({ evicted }) => evicted)).toEqual([true, true, true, ...Array(8).fill(false)])
})

it("returns released bytes to the budget, to the last byte", () => {
  const { budget, add } = crowd(1_000)
  const [a, b] = [add(300), add(200)]
  budget.setHeld(a, 500)
  budget.setHeld(b, 50)
  expect([budget.used, budget.holders]).toEqual([550, 2])
  budget.setHeld(a, 0)
  budget.setHeld(b, 0)
  expect([budget.used, budget.holders]).toEqual([0, 0])
})

it("never holds more than the limit, and counts exactly, in any order of events", () => {
  const change = fc.record({ who: fc.nat(20), bytes: fc.nat(400), wait: fc.nat(50) })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), changes => {
      const { budget, holders, add, pass } = crowd(1_000)
      for (let n = 0; n <= 20; n++) add(0)
      for (const { who, bytes, wait } of changes) {
        const holder = holders[who]
        if (holder === undefined) throw new Error("no such holder")
        budget.setHeld(holder, bytes)
        pass(wait)
        expect(budget.used).toBeLessThanOrEqual(1_000)
        expect(budget.used).toBe(holders.reduce((sum, { heldBytes }) => sum + heldBytes, 0))
        expect(budget.holders).toBe(holders.filter(({ heldBytes }) => heldBytes > 0).length)
      }
    }),
  )
})
