// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { FairPool } from "./fair-pool.js"

it("names the owner that holds most, not the one with most members", () => {
  const pool = new FairPool<string>()
  expect(pool.heaviest()).toBeUndefined()
  for (const name of ["a1", "a2", "a3"]) pool.add("a", name)
  pool.add("b", "b1", 4)
  expect(pool.heaviest()?.owner).toBe("b")
  pool.add("b", "b1", 2)
  expect(pool.heaviest()?.owner).toBe("a")
})

it("orders members by when they were last added", () => {
  const pool = new FairPool<string>()
  for (const name of ["first", "second", "first"]) pool.add("a", name)
  expect(pool.of("a")?.oldest).toBe("second")
  expect(pool.held("a")).toBe(2)
})

it("removes a member once, and only from its owner", () => {
  const pool = new FairPool<string>()
  pool.add("a", "one")
  expect(pool.remove("b", "one")).toBe(false)
  expect(pool.remove("a", "one")).toBe(true)
  expect(pool.remove("a", "one")).toBe(false)
  expect([pool.amount, pool.held("a"), pool.of("a")]).toEqual([0, 0, undefined])
})

it("counts exactly, whatever is added and removed", () => {
  const step = fc.record({ owner: fc.constantFrom("a", "b", "c"), member: fc.nat(3), amount: fc.nat(5) })
  fc.assert(
    fc.property(fc.array(step), steps => {
      const pool = new FairPool<number>()
      const naive = new Map<string, number>()
      for (const { owner, member, amount } of steps) {
        if (amount === 0) pool.remove(owner, member)
        else pool.add(owner, member, amount)
        naive.set(`${owner}${member}`, amount)
        const heldBy = (prefix: string): number =>
          [...naive].reduce((sum, [name, held]) => sum + (name.startsWith(prefix) ? held : 0), 0)
        expect(pool.amount).toBe(heldBy(""))
        for (const name of ["a", "b", "c"]) expect(pool.held(name)).toBe(heldBy(name))
        expect(pool.heaviest()?.amount ?? 0).toBe(Math.max(...["a", "b", "c"].map(heldBy)))
      }
    }),
  )
})
