// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { ManualScheduler } from "../snapshot/testing/manual-sources.js"
import { FreshRead } from "./fresh-read.js"

function setUp() {
  const scheduler = new ManualScheduler()
  const reads: (() => void)[] = []
  const fresh = new FreshRead(() => new Promise(resolve => reads.push(resolve)), scheduler)
  const done: string[] = []
  const ask = (name: string): void => void fresh.request().then(() => done.push(name))
  return { scheduler, reads, done, ask }
}
const turn = (): Promise<void> => new Promise(setImmediate)

it("reads once for all requests before it begins", async () => {
  const { reads, done, ask } = setUp()
  ask("a")
  ask("b")
  await turn()
  expect([reads.length, done]).toEqual([1, []])
  reads[0]?.()
  await turn()
  expect(done).toEqual(["a", "b"])
})

it("reads again, after a pause, for a request during a read", async () => {
  const { scheduler, reads, done, ask } = setUp()
  ask("a")
  await turn()
  ask("late")
  reads[0]?.()
  await turn()
  expect([reads.length, done]).toEqual([1, ["a"]])
  scheduler.advance(1_000)
  await turn()
  expect(reads.length).toBe(2)
  reads[1]?.()
  await turn()
  expect(done).toEqual(["a", "late"])
})
