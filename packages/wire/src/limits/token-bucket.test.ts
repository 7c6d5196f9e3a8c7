// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { TokenBucket, TokenBuckets } from "./token-bucket.js"

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

  it("loses no tokens when the clock goes back", () => {
    const bucket = new TokenBucket(1, 10, 1_000)
    expect([bucket.take(1_000), bucket.take(0), bucket.take(1_100)]).toEqual([true, false, true])
  })
})

it("keeps one bucket for each key", () => {
  const buckets = new TokenBuckets(2, 10)
  buckets.of("a", 0).take(0, 2)
  expect(buckets.of("a", 0).take(0)).toBe(false)
  expect(buckets.of("b", 0).take(0)).toBe(true)
})

it("forgets full buckets before used ones", () => {
  const buckets = new TokenBuckets(1, 1)
  const used = buckets.of("used", 0)
  for (let key = 1; key < 10_000; key++) buckets.of(`${key}`, 0)
  used.take(0)
  buckets.of("one more", 0)
  expect(buckets.of("used", 0)).toBe(used)
})

it("forgets the oldest bucket when all are in use", () => {
  const buckets = new TokenBuckets(1, 1)
  const all = Array.from({ length: 10_000 }, (_, key) => buckets.of(`${key}`, 0))
  for (const bucket of all) bucket.take(0)
  buckets.of("one more", 0)
  expect(buckets.of("9999", 0)).toBe(all[9_999])
  expect(buckets.of("0", 0)).not.toBe(all[0])
})
