// SPDX-License-Identifier: Apache-2.0
import { EventEmitter, once } from "node:events"
import { expect, it } from "vitest"
import { eventually, sourceOf } from "./eventually.js"

it("resolves once the check is true", async () => {
  let checks = 0
  await eventually(() => ++checks === 3)
  expect(checks).toBe(3)
})

it("fails with the source of the check and the actual state", async () => {
  const held: string[] = []
  const failure = eventually(() => held.length === 2, { state: () => `held ${held.length}`, limitMs: 20 })
  await expect(failure).rejects.toThrow("timed out after 0.02 s waiting until held.length === 2; there is held 0")
})

it("fails at its limit if an event never comes", async () => {
  const events = new EventEmitter()
  const failure = eventually(() => false, {
    what: "an event comes",
    change: signal => once(events, "change", { signal }),
    limitMs: 20,
  })
  await expect(failure).rejects.toThrow("timed out after 0.02 s waiting until an event comes")
})

it("fails with the error that the check throws", async () => {
  const broken = eventually(() => {
    throw new Error("broken check")
  })
  await expect(broken).rejects.toThrow("broken check")
})

it("formats the source of a check on one line", () => {
  expect(sourceOf(({ a }: { a: number }) => a === 1)).toBe("a === 1")
})
