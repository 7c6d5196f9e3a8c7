// SPDX-License-Identifier: Apache-2.0
import type { Caller } from "@merlon/xds/server"
import { beforeEach, expect, it } from "vitest"
import { MOST_REMEMBERED, REMEMBERED_MS, RememberedReviews } from "./remembered-reviews.js"

const CALLER: Caller = { trustDomain: "cluster.local", namespace: "foo", serviceAccount: "web", proof: "token" }

let asked: string[]
let result: Caller | undefined | Error
let now: number
let elapsed: number
let reviews: RememberedReviews

beforeEach(() => {
  asked = []
  result = CALLER
  now = 1_000_000
  elapsed = 0
  const review = async (token: string) => {
    asked.push(token)
    if (result instanceof Error) throw result
    return result
  }
  reviews = new RememberedReviews({ review, now: () => now, elapsed: () => elapsed })
})

it("reviews a token once, also for concurrent callers", async () => {
  const together = await Promise.all([reviews.callerOf("a"), reviews.callerOf("a"), reviews.callerOf("b")])
  expect(together).toEqual([CALLER, CALLER, CALLER])
  expect(await reviews.callerOf("a")).toEqual(CALLER)
  expect(asked).toEqual(["a", "b"])
})

it("notices within a minute that an account was deleted", async () => {
  await reviews.callerOf("a")
  result = undefined
  elapsed = REMEMBERED_MS - 1
  expect(await reviews.callerOf("a")).toEqual(CALLER)
  elapsed = REMEMBERED_MS
  expect(await reviews.callerOf("a")).toBeUndefined()
  expect(reviews.size).toBe(0)
})

it("counts the minute from the query, however late the answer arrives", async () => {
  let answer: (caller: Caller) => void = () => {}
  const review = () => new Promise<Caller>(resolve => (answer = resolve))
  reviews = new RememberedReviews({ review, now: () => now, elapsed: () => elapsed })
  const first = reviews.callerOf("a")
  elapsed = REMEMBERED_MS
  answer(CALLER)
  await first
  const again = reviews.callerOf("a")
  answer({ ...CALLER, namespace: "later" })
  expect(await again).toMatchObject({ namespace: "later" })
})

it("trusts no token past its expiry, even if the clock goes back", async () => {
  result = { ...CALLER, expiresAt: now + 10 }
  await reviews.callerOf("a")
  now += 10
  result = undefined
  expect(await reviews.callerOf("a")).toBeUndefined()
  result = CALLER
  await reviews.callerOf("b")
  result = undefined
  now -= 3_600_000
  elapsed += REMEMBERED_MS
  expect(await reviews.callerOf("b")).toBeUndefined()
})

it.each<[string, () => void]>([
  ["invalid", () => (result = undefined)],
  ["an invitation", () => (result = { ...CALLER, invitation: "once" })],
])("does not cache a token that is %s", async (_, say) => {
  say()
  await reviews.callerOf("a")
  await reviews.callerOf("a")
  expect(asked).toEqual(["a", "a"])
  expect(reviews.size).toBe(0)
})

it("does not cache a failed review", async () => {
  result = new Error("the API is away")
  await expect(reviews.callerOf("a")).rejects.toThrow("away")
  result = CALLER
  expect(await reviews.callerOf("a")).toEqual(CALLER)
})

it("caches a limited number of reviews, the newest", async () => {
  for (let i = 0; i <= MOST_REMEMBERED; i++) await reviews.callerOf(String(i))
  expect(reviews.size).toBe(MOST_REMEMBERED)
  asked = []
  await reviews.callerOf(String(MOST_REMEMBERED))
  await reviews.callerOf("0")
  expect(asked).toEqual(["0"])
})
