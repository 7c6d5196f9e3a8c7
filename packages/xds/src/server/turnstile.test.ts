// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { Turnstile } from "./turnstile.js"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function visitors(turnstile: Turnstile) {
  const log: string[] = []
  const leave = new Map<string, () => void>()
  const come = async (name: string): Promise<void> => {
    const way = await turnstile.enter()
    log.push(way === undefined ? `${name} sent away` : name)
    if (way !== undefined) leave.set(name, way)
  }
  return { log, come, leave: (name: string) => leave.get(name)?.() }
}

it("lets so many in, and the others in the order of their coming as places are left", async () => {
  const { log, come, leave } = visitors(new Turnstile({ atOnce: 2, inLine: 9, waitMs: 100 }))
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

it("sends away whoever finds the line full", async () => {
  const { log, come } = visitors(new Turnstile({ atOnce: 1, inLine: 1, waitMs: 100 }))
  void come("a")
  void come("b")
  await come("c")
  expect(log).toEqual(["a", "c sent away"])
})

it("sends away whoever has waited too long, and their place in line goes to the next", async () => {
  const { log, come, leave } = visitors(new Turnstile({ atOnce: 1, inLine: 1, waitMs: 100 }))
  await come("a")
  const late = come("b")
  await vi.advanceTimersByTimeAsync(100)
  await late
  const next = come("c")
  leave("a")
  await next
  expect(log).toEqual(["a", "b sent away", "c"])
})

it("has all its places free when all have left", async () => {
  const { log, come, leave } = visitors(new Turnstile({ atOnce: 1, inLine: 5, waitMs: 100 }))
  const all = ["a", "b"].map(come)
  await all[0]
  leave("a")
  await all[1]
  leave("b")
  await come("c")
  expect(log).toEqual(["a", "b", "c"])
})
