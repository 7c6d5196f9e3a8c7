// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { ConcurrencyLimit } from "./concurrency-limit.js"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function visitors(limit: ConcurrencyLimit) {
  const log: string[] = []
  const leave = new Map<string, () => void>()
  const come = async (name: string): Promise<void> => {
    const way = await limit.enter()
    log.push(way === undefined ? `${name} rejected` : name)
    if (way !== undefined) leave.set(name, way)
  }
  return { log, come, leave: (name: string) => leave.get(name)?.() }
}

it("starts as many as there are slots, and the others in order as slots are freed", async () => {
  const { log, come, leave } = visitors(new ConcurrencyLimit({ atOnce: 2, queue: 9, waitMs: 100 }))
  const all = ["a", "b", "c", "d"].map(come)
  await Promise.all(all.slice(0, 2))
  expect(log).toEqual(["a", "b"])
  leave("b")
  await all[2]
  expect(log).toEqual(["a", "b", "c"])
  leave("c")
  await all[3]
  expect(log).toEqual(["a", "b", "c", "d"])
})

it("rejects when the queue is full", async () => {
  const { log, come } = visitors(new ConcurrencyLimit({ atOnce: 1, queue: 1, waitMs: 100 }))
  void come("a")
  void come("b")
  await come("c")
  expect(log).toEqual(["a", "c rejected"])
})

it("rejects after too long a wait, and leaves the queue", async () => {
  const { log, come, leave } = visitors(new ConcurrencyLimit({ atOnce: 1, queue: 1, waitMs: 100 }))
  await come("a")
  const late = come("b")
  await vi.advanceTimersByTimeAsync(100)
  await late
  const next = come("c")
  leave("a")
  await next
  expect(log).toEqual(["a", "b rejected", "c"])
})

it("has all slots free when all work has left", async () => {
  const { log, come, leave } = visitors(new ConcurrencyLimit({ atOnce: 1, queue: 5, waitMs: 100 }))
  const all = ["a", "b"].map(come)
  await all[0]
  leave("a")
  await all[1]
  leave("b")
  await come("c")
  expect(log).toEqual(["a", "b", "c"])
})

it("runs work in order, even after failures", async () => {
  const limit = new ConcurrencyLimit({ atOnce: 2 })
  const begun: number[] = []
  const ends: ((failed: boolean) => void)[] = []
  const all = [0, 1, 2, 3].map(number =>
    limit.run(
      () =>
        new Promise<void>((resolve, reject) => {
          begun.push(number)
          ends[number] = failed => (failed ? reject(new Error("no")) : resolve())
        }),
    ),
  )
  expect(begun).toEqual([0, 1])
  ends[1]?.(true)
  await expect(all[1]).rejects.toThrow("no")
  expect(begun).toEqual([0, 1, 2])
  ends[0]?.(false)
  await all[0]
  expect(begun).toEqual([0, 1, 2, 3])
  ends[2]?.(false)
  ends[3]?.(false)
  await Promise.all([all[2], all[3]])
  expect(await limit.run(async () => "free again")).toBe("free again")
})
