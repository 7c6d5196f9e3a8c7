// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { HandshakeQueue } from "./handshake-queue.js"

function stage() {
  const turns: (() => void)[] = []
  const started: string[] = []
  const queue = new HandshakeQueue<string>(
    who => void started.push(who),
    run => void turns.push(run),
  )
  return { queue, started, turn: () => turns.shift()?.(), turns }
}

it("starts a few per tick, in order of arrival", () => {
  const { queue, started, turn } = stage()
  const all = Array.from({ length: 20 }, (_, index) => `proxy ${index}`)
  for (const each of all) queue.add("10.0.0.1", each)
  expect(started).toEqual([])
  turn()
  expect(started).toEqual(all.slice(0, 8))
  turn()
  turn()
  expect(started).toEqual(all)
})

it("alternates between addresses, however many connections one of them makes", () => {
  const { queue, started, turn } = stage()
  for (let index = 0; index < 1_000; index++) queue.add("10.0.0.1", "one of many")
  queue.add("10.0.0.2", "other")
  queue.add("10.0.0.3", "third")
  turn()
  expect(started.slice(0, 3)).toEqual(["one of many", "other", "third"])
  expect(started).toHaveLength(8)
})

it("does nothing while it is empty, and continues with the next connection", () => {
  const { queue, started, turn, turns } = stage()
  queue.add("10.0.0.1", "first")
  turn()
  expect(turns).toEqual([])
  queue.add("10.0.0.1", "second")
  turn()
  expect(started).toEqual(["first", "second"])
})

it("returns all waiting connections when it is cleared, and starts none of them", () => {
  const { queue, started, turn } = stage()
  for (const each of ["a", "b"]) queue.add("10.0.0.1", each)
  expect(queue.clear()).toEqual(["a", "b"])
  turn()
  expect(started).toEqual([])
})
