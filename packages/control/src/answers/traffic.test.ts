// SPDX-License-Identifier: Apache-2.0
import type { ObservedCall } from "@merlon/policy/ledger"
import { expect, it } from "vitest"
import { Traffic } from "./traffic.js"

const MINUTE = 60_000
const START = 1_000 * MINUTE

function rig() {
  let now = START
  const traffic = new Traffic(() => now)
  const call = (workload: string, verdict: "allow" | "deny", count: number, lastSeen = now): ObservedCall =>
    ({ workload, verdict, count, firstSeen: lastSeen, lastSeen }) as ObservedCall // the fields that are read
  return { traffic, call, pass: (ms: number) => (now += ms) }
}

it("counts by minute and verdict, in all namespaces or in one", () => {
  const { traffic, call, pass } = rig()
  traffic.note([call("a/x", "allow", 3), call("b/y", "deny", 2)])
  pass(MINUTE)
  traffic.note([call("a/x", "deny", 1)])
  const time = (at: number): string => new Date(START + at * MINUTE).toISOString()
  expect(traffic.of(undefined)).toEqual([
    { time: time(0), allowed: 3, denied: 2 },
    { time: time(1), allowed: 0, denied: 1 },
  ])
  expect(traffic.of("b")).toEqual([
    { time: time(0), allowed: 0, denied: 2 },
    { time: time(1), allowed: 0, denied: 0 },
  ])
})

it("reports nothing before its start, and keeps an hour", () => {
  const { traffic, call, pass } = rig()
  expect(traffic.of(undefined)).toHaveLength(1)
  traffic.note([call("a/x", "allow", 1)])
  pass(59 * MINUTE)
  expect(traffic.of(undefined)[0]?.allowed).toBe(1)
  pass(MINUTE)
  expect(traffic.of(undefined)).toHaveLength(60)
  expect(traffic.of(undefined).every(({ allowed }) => allowed === 0)).toBe(true)
})

it("puts late counts into their own minute, and drops them after an hour", () => {
  const { traffic, call, pass } = rig()
  pass(70 * MINUTE)
  traffic.note([call("a/x", "allow", 1, START + 69 * MINUTE), call("a/x", "allow", 5, START)])
  expect(traffic.of(undefined).map(({ allowed }) => allowed)).toEqual([...Array(58).fill(0), 1, 0])
})

it("counts calls from a clock that is ahead in the current minute", () => {
  const { traffic, call } = rig()
  traffic.note([call("a/x", "allow", 1, START + 90 * MINUTE)])
  expect(traffic.of(undefined)).toMatchObject([{ allowed: 1 }])
})
