// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { type Changes, PendingChanges } from "./pending-changes.js"
import { ManualScheduler } from "./testing/manual-sources.js"

function stage() {
  const scheduler = new ManualScheduler()
  const batches: Changes[] = []
  const pending: PendingChanges = new PendingChanges(() => batches.push(pending.take()), scheduler)
  return { scheduler, batches, pending }
}

const batch = (workloads: readonly string[], policies: readonly string[] = []): Changes => ({
  workloads: new Set(workloads),
  policies: new Set(policies),
})

describe("pending changes", () => {
  it("are not due before begin", () => {
    const { scheduler, batches, pending } = stage()
    pending.add({ workloads: ["a"] })
    scheduler.advance(1_000)
    expect(batches).toEqual([])
    pending.begin()
    expect(batches).toEqual([batch(["a"])])
  })

  it("begin only once", () => {
    const { batches, pending } = stage()
    pending.begin()
    pending.begin()
    expect(batches).toEqual([batch([])])
  })

  it("of one burst form one batch with each key once", () => {
    const { scheduler, batches, pending } = stage()
    pending.begin()
    batches.length = 0
    pending.add({ workloads: ["a", "b"], policies: ["p"] })
    pending.add({ workloads: ["b"], policies: ["p", "q"] })
    expect(batches).toEqual([])
    scheduler.advance(10)
    expect(batches).toEqual([batch(["a", "b"], ["p", "q"])])
  })

  it("are taken once, and a batch does not grow afterwards", () => {
    const { scheduler, batches, pending } = stage()
    pending.begin()
    batches.length = 0
    pending.add({ workloads: ["a"] })
    scheduler.advance(10)
    pending.add({ workloads: ["b"] })
    expect(batches).toEqual([batch(["a"])])
    scheduler.advance(10)
    expect(batches).toEqual([batch(["a"]), batch(["b"])])
  })

  it("are not due for a change that affects nothing", () => {
    const { scheduler, pending } = stage()
    pending.begin()
    pending.add({})
    expect(scheduler.waiting).toEqual([])
  })

  it("are not due after stop", () => {
    const { scheduler, batches, pending } = stage()
    pending.begin()
    batches.length = 0
    pending.add({ workloads: ["a"] })
    pending.stop()
    scheduler.advance(10)
    expect(batches).toEqual([])
  })
})
