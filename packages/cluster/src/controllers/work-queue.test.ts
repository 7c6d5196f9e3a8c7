// SPDX-License-Identifier: Apache-2.0

import { eventually } from "@merlon/wire/testing"
import { afterEach, expect, it } from "vitest"
import { WorkQueue } from "./work-queue.js"

let queue: WorkQueue | undefined
afterEach(() => queue?.close())

/** Work that waits until `go` is called. */
function held() {
  const waiting: (() => void)[] = []
  return { wait: () => new Promise<void>(resolve => waiting.push(resolve)), go: () => waiting.shift()?.(), waiting }
}

it("works on each key once, however often it was added before", async () => {
  const done: string[] = []
  queue = new WorkQueue(async key => void done.push(key))
  for (const key of ["a", "b", "a", "a", "b"]) queue.add(key)
  queue.add("last")
  await eventually(async () => done.includes("last"), { what: "the last item is done" })
  expect(done).toEqual(["a", "b", "last"])
})

it("works on a key again if it is added during the work, and never on two at once", async () => {
  const begun: string[] = []
  const { wait, go, waiting } = held()
  queue = new WorkQueue(async key => {
    begun.push(key)
    await wait()
  })
  queue.add("a")
  await eventually(async () => waiting.length === 1, { what: "one item is in work" })
  queue.add("a")
  queue.add("b")
  expect(begun).toEqual(["a"])
  for (const count of [2, 3]) {
    go()
    await eventually(async () => begun.length === count && waiting.length === 1, {
      what: `${count} items have begun and one is in work`,
    })
  }
  go()
  expect(begun).toEqual(["a", "a", "b"])
})

it("retries failed keys, and continues with the others meanwhile", async () => {
  const seen: string[] = []
  queue = new WorkQueue(async key => {
    seen.push(key)
    if (key === "a" && seen.filter(one => one === "a").length < 3) throw new Error("not yet")
  })
  queue.add("a")
  queue.add("b")
  await eventually(async () => seen.filter(key => key === "a").length === 3, {
    what: "a has been worked on three times",
  })
  expect(seen.slice(0, 2)).toEqual(["a", "b"])
})

it("waits on close for the work in progress, and starts no other", async () => {
  const begun: string[] = []
  const { wait, go, waiting } = held()
  const ending = new WorkQueue(async key => {
    begun.push(key)
    await wait()
  })
  ending.add("a")
  await eventually(async () => waiting.length === 1, { what: "one item is in work" })
  ending.add("b")
  ending.addLater("c", 0)
  let closed = false
  const close = ending.close().then(() => {
    closed = true
  })
  ending.add("d")
  await Promise.resolve()
  expect(closed).toBe(false)
  go()
  await close
  expect(begun).toEqual(["a"])
})
