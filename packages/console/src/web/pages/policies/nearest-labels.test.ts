// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import type { Pod, Policy } from "../../api/objects.js"
import { nearestLabels } from "./nearest-labels.js"

const pod = (namespace: string, name: string, labels: Record<string, string>): Pod => ({
  metadata: { name, namespace, labels },
})
const pods = [
  pod("shop", "cart-1", { app: "cart", tier: "front" }),
  pod("shop", "checkout-1", { app: "checkout" }),
  pod("bank", "ledger-1", { app: "ledger" }),
]
const policy = (namespace: string, matchLabels?: object): Policy => ({
  kind: "AuthorizationPolicy",
  metadata: { name: "a", namespace },
  spec: matchLabels === undefined ? {} : { selector: { matchLabels } },
})

test.each([
  ["without a selector", policy("shop")],
  ["with an empty selector", policy("shop", {})],
  ["that selects a workload", policy("shop", { app: "cart", tier: "front" })],
  ["of the root namespace that selects a workload of another namespace", policy("root", { app: "ledger" })],
])("offers no labels for a policy %s", (_, one) => {
  expect(nearestLabels(one, pods, "root")).toBeUndefined()
})

it("offers the nearest value of the same key first", () => {
  expect(nearestLabels(policy("shop", { app: "chekout" }), pods, "root")?.[0]).toEqual({
    ...{ wanted: "app=chekout", label: "app=checkout", workload: "shop/checkout-1" },
  })
})

it("offers a value of the same key before any other key", () => {
  const labels = nearestLabels(policy("shop", { app: "front" }), pods, "root")?.map(({ label }) => label)
  expect(labels?.at(-1)).toBe("tier=front")
})

it("offers no label of another namespace", () => {
  expect(nearestLabels(policy("bank", { app: "cart" }), pods, "root")?.map(({ label }) => label)).toEqual([
    "app=ledger",
  ])
  expect(nearestLabels(policy("empty", { app: "cart" }), pods, "root")).toEqual([])
})
