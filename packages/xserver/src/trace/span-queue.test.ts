// SPDX-License-Identifier: Apache-2.0
import { beforeEach, expect, it } from "vitest"
import { BATCH, MOST_QUEUED, SpanQueue } from "./span-queue.js"

type Outcome = "taken" | "rejected" | "again"

let sent: number[][]
let answer: () => Promise<Outcome>
let due: { run: () => void; after: number }[]
let queue: SpanQueue<number>

const settle = () => new Promise(resolve => setImmediate(resolve))
/** Runs the next timer. */
async function pass(): Promise<number | undefined> {
  const next = due.shift()
  next?.run()
  await settle()
  return next?.after
}

beforeEach(() => {
  sent = []
  due = []
  answer = async () => "taken"
  queue = new SpanQueue<number>({
    send: batch => {
      sent.push([...batch])
      return answer()
    },
    later: (run, after) => {
      const entry = { run, after }
      due.push(entry)
      return () => {
        due = due.filter(other => other !== entry)
      }
    },
  })
})

it("collects spans and sends them together", async () => {
  for (const span of [1, 2, 3]) queue.add(() => span)
  expect(sent).toEqual([])
  await pass()
  expect(sent).toEqual([[1, 2, 3]])
  expect([queue.exported, queue.dropped, due.length]).toEqual([3, 0, 0])
})

it("sends a full batch at once, and never two at a time", async () => {
  let take: (outcome: Outcome) => void = () => {}
  answer = () => new Promise(resolve => (take = resolve))
  for (let i = 0; i < 2 * BATCH; i++) queue.add(() => i)
  expect(sent.map(({ length }) => length)).toEqual([BATCH])
  take("taken")
  await settle()
  await pass()
  expect(sent.map(([first]) => first)).toEqual([0, BATCH])
})

it("keeps spans for a failing collector, backs off, and drops the excess", async () => {
  answer = () => Promise.reject(new Error("ECONNREFUSED"))
  queue.add(() => 1)
  const pauses: (number | undefined)[] = []
  for (let i = 0; i < 8; i++) pauses.push(await pass())
  expect(pauses).toEqual([2_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  for (let i = 0; i < MOST_QUEUED + 9; i++) queue.add(() => i)
  expect(queue.dropped).toBe(10)
  expect(due).toHaveLength(1)
  answer = async () => "taken"
  for (let passes = 0; due.length > 0; passes++) {
    expect(passes, "passes until everything is sent").toBeLessThanOrEqual(MOST_QUEUED / BATCH + 1)
    await pass()
  }
  expect([queue.exported, queue.dropped]).toEqual([MOST_QUEUED, 10])
})

it("drops spans that a collector rejects, and continues", async () => {
  answer = async () => "rejected"
  queue.add(() => 1)
  await pass()
  answer = async () => "taken"
  queue.add(() => 2)
  await pass()
  expect(sent).toEqual([[1], [2]])
  expect([queue.exported, queue.dropped]).toEqual([1, 1])
})

it("sends the rest at shutdown, and does not wait for a dead collector", async () => {
  for (let i = 0; i < BATCH + 5; i++) queue.add(() => i)
  await queue.close()
  expect(queue.exported).toBe(BATCH + 5)
  answer = async () => "again"
  queue.add(() => 1)
  await queue.close()
  expect([queue.exported, queue.dropped, due.length]).toEqual([BATCH + 5, 1, 0])
})

it("waits only briefly at shutdown for a collector that does not respond", async () => {
  let take: (outcome: Outcome) => void = () => {}
  answer = () => new Promise(resolve => (take = resolve))
  for (let i = 0; i < BATCH + 5; i++) queue.add(() => i)
  const closed = queue.close()
  expect(await pass()).toBe(3_000)
  await closed
  expect([queue.exported, queue.dropped]).toEqual([0, BATCH + 5])
  take("taken")
  await settle()
  expect([sent.length, queue.exported, queue.dropped, due.length]).toEqual([1, 0, BATCH + 5, 0])
})
