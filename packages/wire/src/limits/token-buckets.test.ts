// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { TokenBuckets } from "./token-buckets.js"

it("keeps one bucket for each key", () => {
  const buckets = new TokenBuckets(2, 10)
  buckets.of("a", 0).take(0, 2)
  expect(buckets.of("a", 0).take(0)).toBe(false)
  expect(buckets.of("b", 0).take(0)).toBe(true)
})

it("forgets full buckets before it forgets a used one", () => {
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
