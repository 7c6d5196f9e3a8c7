// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { eventually } from "./eventually.js"

it("returns once the check holds", async () => {
  let checks = 0
  await eventually("the third check", () => ++checks === 3)
  expect(checks).toBe(3)
})

it("fails with what it waited for", async () => {
  await expect(eventually("pigs fly", async () => false, 0)).rejects.toThrow(
    "timed out after 0 s waiting until pigs fly",
  )
})

it("passes on what a check throws", async () => {
  const check = (): boolean => {
    throw new Error("the process ended")
  }
  await expect(eventually("it is ready", check)).rejects.toThrow("the process ended")
})
