// SPDX-License-Identifier: Apache-2.0
// Ten views of the console with the sample shop, in both themes: the images of the README and the documentation.

import type { View } from "./views.js"

export const THEMES = ["light", "dark"] as const
export type Theme = (typeof THEMES)[number]

export const shopPictureOf = ({ name }: View, theme: Theme): string =>
  `docs/images/console-${name}${theme === "light" ? "" : "-dark"}.png`

export const SHOP_VIEWS: readonly View[] = [
  {
    name: "overview",
    place: "/?ns=shop",
    shows: ["Needs attention", "of 5 proxies", "Would newly allow", "The invariant holds."],
    before: async page => {
      // A straight edge has no height, so it counts as hidden.
      await page.locator(".react-flow__edge").first().waitFor({ state: "attached" })
    },
  },
  {
    name: "map",
    place: "/map?since=1h",
    shows: ["outside the mesh", "denied"],
    before: async page => {
      // A straight edge has no height, so it counts as hidden.
      await page.locator(".react-flow__edge").first().waitFor({ state: "attached" })
    },
  },
  {
    name: "traffic",
    place: "/traffic?verdict=deny&caller=shop/cart",
    shows: ["Why (current policies)", "Allow this…"],
    before: async page => {
      await page.getByRole("row").nth(1).waitFor()
      await page.getByRole("button", { name: "Pause" }).click()
      await page.getByRole("row").nth(1).click()
    },
  },
  {
    name: "access",
    place: "/access?proved&ns=shop",
    shows: ["Access", "none"],
    before: async page => {
      // Every caller of the shop has been compared with every workload of the shop.
      await page.getByRole("button", { name: "calls of shop/payment to shop/payment-1" }).getByText("none").waitFor()
    },
  },
  {
    name: "policy",
    place: "/policies/new?template=deny-path&namespace=shop",
    shows: ["newly denied (403)", "Nothing else changes (proved).", "The invariant holds after this change."],
  },
  {
    name: "changes",
    place: "/changes?ns=shop",
    shows: ["admin created", "Net difference", "newly denied (403)", "Nothing else changes (proved)."],
  },
  {
    name: "invariants",
    place: "/invariants",
    shows: ["only-payment-reaches-ledger", "Add an invariant", "No dead rule"],
  },
  {
    name: "playground",
    place: "/playground?workload=shop/payment-1&method=POST&path=/charge&from=cluster.local/ns/shop/sa/cart",
    shows: ["Playground", "denied"],
  },
  { name: "workload", place: "/workloads/shop/payment-1", shows: ["Workload shop/payment-1", "payment-callers"] },
  { name: "mtls", place: "/mtls?ns=shop", shows: ["receives plaintext", "would be blocked"] },
]
