// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { aboutService, deniedAt } from "./about-service.js"
import { COLLAPSED, type Edge } from "./edges.js"
import { Services } from "./services.js"

const edge = (from: string, to: string, denied = 0, isMtls = true): Edge => ({
  ...{ from, to, allowed: 1, denied, plaintext: 0, isMtls, calls: [] },
})
const EDGES = [
  edge("shop/cart", "shop/payment", 9),
  edge("web/page", "shop/cart", 2),
  edge("outside the mesh", "web/page", 0, false),
]

it.each([
  ["shop/payment", "mTLS", 9],
  ["web/page", "plaintext", 0],
  // Includes calls denied inside the namespace, which no drawn edge shows.
  [`${COLLAPSED}shop`, "2 services · mTLS", 11],
  [`${COLLAPSED}web`, "1 service · plaintext", 0],
])("says of %s: %s, %i denied", (id, about, denied) => {
  expect(aboutService(id, new Services([]), EDGES)).toBe(about)
  expect(deniedAt(id, EDGES)).toBe(denied)
})
