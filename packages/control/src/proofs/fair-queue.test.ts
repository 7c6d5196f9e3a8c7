// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { FairQueue } from "./fair-queue.js"

const one = (namespace: string, name: string) => ({ namespace, name })

function drained(queue: FairQueue<{ readonly namespace: string; readonly name: string }>): readonly string[] {
  const names: string[] = []
  for (let next = queue.next(); next !== undefined; next = queue.next()) names.push(next.name)
  return names
}

it("lets namespaces take turns, each in its own order, and one go before all", () => {
  const queue = new FairQueue<{ readonly namespace: string; readonly name: string }>("root")
  for (const name of ["a1", "a2", "a3"]) queue.add(one("a", name))
  queue.add(one("b", "b1"))
  queue.add(one("root", "r1"))
  queue.add(one("b", "b2"))
  expect(drained(queue)).toEqual(["r1", "a1", "b1", "a2", "b2", "a3"])
})

it("knows whether anybody else waits, and forgets who left", () => {
  const queue = new FairQueue<{ readonly namespace: string; readonly name: string }>("root")
  const [a, b] = [one("a", "a1"), one("b", "b1")]
  queue.add(a)
  expect([queue.hasOthers("a"), queue.hasOthers("b")]).toEqual([false, true])
  queue.add(b)
  expect([queue.hasOthers("a"), queue.hasOthers("b")]).toEqual([true, true])
  queue.remove(b)
  queue.remove(b)
  expect([queue.hasOthers("a"), drained(queue)]).toEqual([false, ["a1"]])
})
