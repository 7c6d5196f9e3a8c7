// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { afterExit, NO_EARLY_EXITS } from "./restart-delay.js"

function delays(lives: readonly number[]): readonly number[] {
  let exits = NO_EARLY_EXITS
  return lives.map(lived => {
    const after = afterExit(exits, lived)
    exits = after.exits
    return after.delayMs
  })
}

it("grows with each restart, up to half a minute", () => {
  expect(delays(new Array(9).fill(10))).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
})

it("is reset after a minute of running", () => {
  expect(delays([10, 10, 60_000, 10])).toEqual([500, 1_000, 500, 1_000])
})
