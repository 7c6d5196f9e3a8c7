// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { Backoff } from "./backoff.js"

const LIMITS = { firstRetryMs: 200, retryMs: 1_000, longestRetryMs: 30_000 }
const often = (backoff: Backoff, times: number) =>
  Array.from({ length: times }, () => backoff.next({ rejected: false }))

describe("delays between attempts", () => {
  it("start short and grow to the maximum", () => {
    const backoff = new Backoff(LIMITS, () => 1)
    expect(often(backoff, 8)).toEqual([200, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  it("are random between zero and their bound, so that clients do not reconnect together", () => {
    const backoff = new Backoff(LIMITS, () => 0)
    expect(often(backoff, 3)).toEqual([0, 0, 0])
  })

  it("start again after a reset", () => {
    const backoff = new Backoff(LIMITS, () => 1)
    often(backoff, 5)
    backoff.reset()
    expect(often(backoff, 1)).toEqual([200])
  })

  it("are long from the start for a rejected client", () => {
    expect(new Backoff(LIMITS, () => 0).next({ rejected: true })).toBe(15_000)
    expect(new Backoff(LIMITS, () => 1).next({ rejected: true })).toBe(30_000)
  })
})
