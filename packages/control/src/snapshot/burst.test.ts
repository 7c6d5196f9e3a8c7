// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { Burst, SYSTEM_SCHEDULER } from "./burst.js"
import { ManualScheduler } from "./testing/manual-sources.js"

function setUp() {
  const scheduler = new ManualScheduler()
  const acts: number[] = []
  const burst = new Burst(() => acts.push(scheduler.now()), scheduler, 5)
  const start = scheduler.now()
  return { scheduler, burst, since: () => acts.map(at => at - start) }
}

it("runs at once after a quiet time, once for all requests", () => {
  const { scheduler, burst, since } = setUp()
  for (let i = 0; i < 3; i++) burst.request()
  expect(scheduler.waiting).toEqual([0])
  scheduler.advance(0)
  expect(since()).toEqual([0])
})

it("runs at most one window later while requests keep coming", () => {
  const { scheduler, burst, since } = setUp()
  for (let i = 0; i < 12; i++) {
    burst.request()
    scheduler.advance(1)
  }
  expect(since()).toEqual([0, 5, 10])
})

it("runs at once again after the burst", () => {
  const { scheduler, burst, since } = setUp()
  burst.request()
  scheduler.advance(100)
  burst.request()
  scheduler.advance(0)
  expect(since()).toEqual([0, 100])
})

it("runs again for a request that arrives during the run", () => {
  const scheduler = new ManualScheduler()
  let acts = 0
  const burst = new Burst(() => {
    acts++
    if (acts === 1) burst.request()
  }, scheduler)
  burst.request()
  scheduler.advance(0)
  expect(acts).toBe(1)
  scheduler.advance(5)
  expect(acts).toBe(2)
})

it("does nothing after stop", () => {
  const { scheduler, burst, since } = setUp()
  burst.request()
  burst.stop()
  burst.request()
  scheduler.advance(50)
  expect(since()).toEqual([])
})

it("works with the system clock", async () => {
  let acts = 0
  await new Promise<void>(resolve => {
    const burst: Burst = new Burst(() => {
      acts++
      if (acts === 2) resolve()
      else burst.request()
    }, SYSTEM_SCHEDULER)
    burst.request()
  })
  expect(acts).toBe(2)
})
