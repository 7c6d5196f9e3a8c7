// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { HeavyWork } from "./heavy-work.js"

const owner = (name: string) => ({ owner: name, system: false })

it("alternates between owners, however much one of them has queued", async () => {
  const work = new HeavyWork()
  const done: string[] = []
  const step = (name: string) => work.run(owner(name[0] ?? ""), () => void done.push(name))
  await Promise.all(["a1", "a2", "a3", "b1", "c1", "b2"].map(step))
  expect(done).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"])
})

it("lets the event loop run between two steps", async () => {
  const work = new HeavyWork()
  let turns = 0
  const seen: number[] = []
  const turn = (): void => {
    turns++
    if (seen.length < 3) setImmediate(turn)
  }
  setImmediate(turn)
  await Promise.all([1, 2, 3].map(() => work.run(owner("a"), () => void seen.push(turns))))
  expect(new Set(seen).size).toBe(3)
})

it("passes on what a step returns or throws, and continues", async () => {
  const work = new HeavyWork()
  const failing = work.run(owner("a"), () => {
    throw new Error("bad document")
  })
  const good = work.run(owner("a"), () => 7)
  await expect(failing).rejects.toThrow("bad document")
  expect(await good).toBe(7)
})
