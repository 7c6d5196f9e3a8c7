// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, it } from "vitest"
import { shareKeySets } from "./key-set-shares.js"

const many = (word: string, count: number) => Array.from({ length: count }, (_, index) => `${word}-${index}`)
const limits = { total: 10, perNamespace: 4, rootNamespace: "root" }

it("keeps slots for others if one namespace has a thousand dead issuers", () => {
  const wanted = new Map([
    ["evil", many("dead", 1_000)],
    ["app", ["live"]],
  ])
  const { admitted, rejected } = shareKeySets(wanted, { ...limits, perNamespace: 1_000 })
  expect(admitted.has("live")).toBe(true)
  expect(admitted.size).toBe(10)
  expect(rejected.get("dead-999")).toContain("more than 10 key sets are needed")
})

it("reports key sets beyond a namespace's quota", () => {
  const { admitted, rejected } = shareKeySets(new Map([["evil", many("dead", 6)]]), limits)
  expect([...admitted]).toEqual(many("dead", 4))
  expect([...rejected.keys()]).toEqual(["dead-4", "dead-5"])
  expect(rejected.get("dead-4")).toContain("the namespace `evil` uses more than 4 key sets")
})

it("has no quota for the root namespace", () => {
  expect(shareKeySets(new Map([["root", many("r", 9)]]), limits).admitted.size).toBe(9)
})

it("fetches a shared key set if one of two namespaces has quota for it", () => {
  const wanted = new Map([
    ["a", [...many("x", 4), "shared"]],
    ["b", ["shared"]],
  ])
  const { admitted, rejected } = shareKeySets(wanted, limits)
  expect(admitted.has("shared")).toBe(true)
  expect(rejected.size).toBe(0)
})

it("gives every namespace its fair share, however many the others name", () => {
  const names = fc.constantFrom("a", "b", "c", "d", "e")
  fc.assert(
    fc.property(fc.dictionary(names, fc.integer({ min: 1, max: 12 }), { minKeys: 1 }), sizes => {
      const wanted = new Map(Object.entries(sizes).map(([namespace, size]) => [namespace, many(namespace, size)]))
      const { admitted, rejected } = shareKeySets(wanted, limits)
      const fair = Math.floor(limits.total / wanted.size)
      expect(admitted.size).toBeLessThanOrEqual(limits.total)
      for (const ids of wanted.values()) {
        const got = ids.filter(id => admitted.has(id)).length
        expect(got).toBeLessThanOrEqual(limits.perNamespace)
        expect(got).toBeGreaterThanOrEqual(Math.min(ids.length, limits.perNamespace, fair))
        for (const id of ids) expect(admitted.has(id)).toBe(!rejected.has(id))
      }
    }),
  )
})
