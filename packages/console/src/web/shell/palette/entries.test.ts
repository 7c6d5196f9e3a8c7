// SPDX-License-Identifier: Apache-2.0
import { expect, it, test } from "vitest"
import { entriesFor, type Known } from "./entries.js"

const known: Known = {
  pages: [
    { title: "Overview", path: "/" },
    { title: "Policies", path: "/policies" },
  ],
  workloads: ["shop/cart-1", "shop/payment-1"],
  policies: [{ kind: "AuthorizationPolicy", key: "shop/payment-callers" }],
  identities: new Map([["shop/cart", "spiffe://td/ns/shop/sa/cart"]]),
}

test.each([
  ["who can reach shop/payment", "/workloads/shop/payment-1"],
  ["Who may call shop/payment-1?", "/workloads/shop/payment-1"],
  ["who can reach shop/pay", "/workloads/shop/payment-1"],
  ["what can shop/ca reach", "/access?as=td%2Fns%2Fshop%2Fsa%2Fcart"],
  ["who can reach shop/elsewhere?", "/workloads/shop/elsewhere"],
  ["what can shop/cart reach", "/access?as=td%2Fns%2Fshop%2Fsa%2Fcart"],
  ["what can td/ns/x/sa/y reach?", "/access?as=td%2Fns%2Fx%2Fsa%2Fy"],
  ["why was 4c2f… denied", "/traffic?id=4c2f"],
  ["who gained access since yesterday?", "/changes?since=24h"],
  ["4C2F9A01", "/traffic?id=4c2f9a01"],
])("%s opens %s", (text, href) => {
  expect(entriesFor(text, known)[0]?.href).toBe(href)
})

it("shows the pages before anything is typed", () => {
  expect(entriesFor("", known).map(({ label }) => label)).toEqual(["Overview", "Policies"])
})

it("finds workloads and policies by part of their name", () => {
  expect(entriesFor("payment", known).map(({ href }) => href)).toEqual([
    "/workloads/shop/payment-1",
    "/policies/AuthorizationPolicy/shop/payment-callers",
  ])
})
