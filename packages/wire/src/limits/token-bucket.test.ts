// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { TokenBucket } from "./token-bucket.js"

describe("a token bucket", () => {
  it("gives its burst at once, then its rate", () => {
    const bucket = new TokenBucket(2, 10, 0)
    expect([bucket.take(0), bucket.take(0), bucket.take(0), bucket.take(99), bucket.take(100)]).toEqual([
      true,
      true,
      false,
      false,
      true,
    ])
  })

  it("never holds more than its burst", () => {
    const bucket = new TokenBucket(1, 10, 0)
    expect([bucket.take(60_000), bucket.take(60_000)]).toEqual([true, false])
  })

  it("takes nothing from a clock that goes back", () => {
    const bucket = new TokenBucket(1, 10, 1_000)
    expect([bucket.take(1_000), bucket.take(0), bucket.take(1_100)]).toEqual([true, false, true])
  })
})
