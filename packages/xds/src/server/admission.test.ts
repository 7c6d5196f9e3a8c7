// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { Admission } from "./admission.js"

function stage() {
  const turns: (() => void)[] = []
  const within: string[] = []
  const admission = new Admission<string>(
    who => void within.push(who),
    run => void turns.push(run),
  )
  return { admission, within, turn: () => turns.shift()?.(), turns }
}

it("lets in a few with each turn, in the order of their coming", () => {
  const { admission, within, turn } = stage()
  const all = Array.from({ length: 20 }, (_, index) => `proxy ${index}`)
  for (const each of all) admission.add("10.0.0.1", each)
  expect(within).toEqual([])
  turn()
  expect(within).toEqual(all.slice(0, 8))
  turn()
  turn()
  expect(within).toEqual(all)
})

it("has addresses take turns, however many connections one of them makes", () => {
  const { admission, within, turn } = stage()
  for (let index = 0; index < 1_000; index++) admission.add("10.0.0.1", "one of many")
  admission.add("10.0.0.2", "other")
  admission.add("10.0.0.3", "third")
  turn()
  expect(within.slice(0, 3)).toEqual(["one of many", "other", "third"])
  expect(within).toHaveLength(8)
})

it("does nothing while nobody waits, and begins again with the next", () => {
  const { admission, within, turn, turns } = stage()
  admission.add("10.0.0.1", "first")
  turn()
  expect(turns).toEqual([])
  admission.add("10.0.0.1", "second")
  turn()
  expect(within).toEqual(["first", "second"])
})

it("tells who waited when the door is shut, and lets nobody in any more", () => {
  const { admission, within, turn } = stage()
  for (const each of ["a", "b"]) admission.add("10.0.0.1", each)
  expect(admission.clear()).toEqual(["a", "b"])
  turn()
  expect(within).toEqual([])
})
