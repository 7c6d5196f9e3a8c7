// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import type { ObservedCall } from "../../api/answers.js"
import { deniedBefore } from "./open-denials.js"

const CHANGED = "2026-01-01T12:00:00Z"

const call = (fields: Partial<ObservedCall>): ObservedCall => ({
  ...{ workload: "shop/payment", port: 80, protocol: "http", method: "POST", path: "/charge", tls: true },
  ...{ caller: "spiffe://td/ns/shop/sa/cart", verdict: "deny", stage: "allow" },
  ...{ firstSeen: "2026-01-01T11:00:00Z", lastSeen: "2026-01-01T11:59:59.999Z", count: 1, ...fields },
})

test.each<readonly [string, Partial<ObservedCall>, string | undefined, boolean]>([
  ["before the change", {}, CHANGED, true],
  ["at the time of the change", { lastSeen: CHANGED }, CHANGED, false],
  ["after the change", { lastSeen: "2026-01-01T12:00:01Z" }, CHANGED, false],
  ["before the change, on a path with placeholders", { path: "/orders/{*}" }, CHANGED, false],
  ["when no change is known", {}, undefined, false],
])("decides whether to evaluate a call again that was last denied %s", (_, fields, changed, expected) => {
  expect(deniedBefore([call(fields)], changed)).toHaveLength(expected ? 1 : 0)
})

test("evaluates only the most frequent calls again", () => {
  const calls = Array.from({ length: 12 }, (_, count) => call({ count, path: `/${count}` }))
  expect(deniedBefore(calls, CHANGED).map(({ count }) => count)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
})
