// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { FetchSlots } from "./fetch-slots.js"

function rig(places: number) {
  const slots = new FetchSlots(places)
  const started: string[] = []
  const take = (name: string, suspect = false) => slots.take(suspect, () => started.push(name))
  return { started, take }
}

it("starts a fetch per slot, then one for each that ends, in order", () => {
  const { started, take } = rig(2)
  const [a, b] = [take("a"), take("b")]
  take("c")
  take("d")
  expect(started).toEqual(["a", "b"])
  b()
  expect(started).toEqual(["a", "b", "c"])
  a()
  expect(started).toEqual(["a", "b", "c", "d"])
})

it("reserves half of the slots for issuers that did not fail last time", () => {
  const { started, take } = rig(4)
  const suspects = ["s1", "s2", "s3"].map(name => take(name, true))
  take("a")
  take("b")
  expect(started).toEqual(["s1", "s2", "a", "b"])
  suspects[0]?.()
  expect(started).toEqual(["s1", "s2", "a", "b", "s3"])
})

it("forgets a caller that stops waiting, and counts it once", () => {
  const { started, take } = rig(1)
  const a = take("a")
  const b = take("b")
  b()
  b()
  take("c")
  take("d")
  a()
  a()
  expect(started).toEqual(["a", "c"])
})
