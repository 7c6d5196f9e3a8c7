// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import { completionsOf, knownValues, typedFilters } from "./filter-text.js"

const decision = (workload: string, peer: string, path: string) => ({
  ...{ apiVersion: "", kind: "Decision", metadata: { name: `${workload}${path}` } },
  spec: { workload, peer, path, method: "GET", status: 200, time: "", verdict: "allow" as const, rule: "shop/all[0]" },
})
const known = knownValues([
  decision("shop/payment-1", "spiffe://cluster.local/ns/shop/sa/cart", "/charge"),
  decision("shop/cart-1", "spiffe://cluster.local/ns/shop/sa/frontend", "/items"),
])

test.each([
  ["verdict:deny", [{ trait: "verdict", not: false, pattern: "deny" }]],
  ["verdict:denied", [{ trait: "verdict", not: false, pattern: "deny" }]],
  ["-path:/health", [{ trait: "path", not: true, pattern: "/health" }]],
  ["/charge", [{ trait: "path", not: false, pattern: "/charge" }]],
  ["charge", [{ trait: "path", not: false, pattern: "*charge*" }]],
  ["shop/payment", [{ trait: "workload", not: false, pattern: "shop/payment*" }]],
  ["path:", []],
])("reads %s", (text, wanted) => {
  expect(typedFilters(text)).toEqual({ wanted, unknown: [] })
})

it("reads several filters at once, and reports unknown fields", () => {
  expect(typedFilters("verdict:deny caller:shop/* colour:red")).toEqual({
    wanted: [
      { trait: "verdict", not: false, pattern: "deny" },
      { trait: "caller", not: false, pattern: "shop/*" },
    ],
    unknown: ["colour"],
  })
})

it("completes fields, and values of the shown traffic", () => {
  expect(completionsOf("ver", known)).toEqual(["verdict:"])
  expect(completionsOf("verdict:deny caller:", known)).toEqual([
    "verdict:deny caller:shop/cart",
    "verdict:deny caller:shop/frontend",
  ])
  expect(completionsOf("-policy:all", known)).toEqual(["-policy:shop/all"])
  expect(completionsOf("char", known)).toEqual(["path:/charge"])
  expect(completionsOf("verdict:deny", known)).toEqual([])
})
