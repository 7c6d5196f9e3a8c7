// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { FairQueue } from "./fair-queue.js"

const one = (namespace: string, name: string) => ({ namespace, name })

function drained(queue: FairQueue<{ readonly namespace: string; readonly name: string }>): readonly string[] {
  const names: string[] = []
  for (let next = queue.next(); next !== undefined; next = queue.next()) names.push(next.name)
  return names
}

it("lets keys take turns, each in its own order, after one priority key", () => {
  const queue = new FairQueue<{ readonly namespace: string; readonly name: string }>("root")
  for (const name of ["a1", "a2", "a3"]) queue.add("a", one("a", name))
  queue.add("b", one("b", "b1"))
  queue.add("root", one("root", "r1"))
  queue.add("b", one("b", "b2"))
  expect(drained(queue)).toEqual(["r1", "a1", "b1", "a2", "b2", "a3"])
})

it("knows whether another key is waiting, and forgets removed items", () => {
  const queue = new FairQueue<{ readonly namespace: string; readonly name: string }>("root")
  const [a, b] = [one("a", "a1"), one("b", "b1")]
  queue.add("a", a)
  expect([queue.hasOthers("a"), queue.hasOthers("b")]).toEqual([false, true])
  queue.add("b", b)
  expect([queue.hasOthers("a"), queue.hasOthers("b")]).toEqual([true, true])
  queue.remove("b", b)
  queue.remove("b", b)
  expect([queue.hasOthers("a"), drained(queue)]).toEqual([false, ["a1"]])
})
