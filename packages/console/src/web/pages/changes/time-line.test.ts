// SPDX-License-Identifier: Apache-2.0

import { expect, it } from "vitest"
import type { HistoryEntry } from "../../api/answers.js"
import { byDay, currentPolicies } from "./time-line.js"

const entry = (sequence: number, name: string, operation: HistoryEntry["operation"], time: Date): HistoryEntry => ({
  ...{ sequence, name, operation, time: time.toISOString(), kind: "AuthorizationPolicy", namespace: "foo" },
  ...{ generation: 1, digest: `${sequence}`, difference: { allowed: [], denied: [] } },
})
const NEWEST_FIRST = [
  entry(4, "again", "create", new Date(2026, 4, 2, 0, 0, 1)),
  entry(3, "gone", "delete", new Date(2026, 4, 1, 23, 59, 59)),
  entry(2, "again", "delete", new Date(2026, 4, 1, 12)),
  entry(1, "gone", "create", new Date(2026, 4, 1, 11)),
]

it("groups entries by local day, in their order", () => {
  const days = byDay(NEWEST_FIRST).map(({ start, entries }) => [start, entries.map(({ sequence }) => sequence)])
  expect(days).toEqual([
    [new Date(2026, 4, 2).getTime(), [4]],
    [new Date(2026, 4, 1).getTime(), [3, 2, 1]],
  ])
})

it("finds the policies that still exist by their newest entry", () => {
  expect([...currentPolicies(NEWEST_FIRST)]).toEqual(["AuthorizationPolicy/foo/again"])
})
