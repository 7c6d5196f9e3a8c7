// SPDX-License-Identifier: Apache-2.0
// Intercepts the API's list of calls and returns calls between the services of a shop, or between many services: these tests
// are about how the map shows calls, not about their origin.

import type { Page } from "playwright-core"

export const NAMESPACES = 20
export const SERVICES = 300

interface Call {
  readonly from: string
  readonly to: string
  readonly count: number
  readonly isDenied?: boolean
  readonly path?: string
}

/** The calls of the sample shop. */
export const SHOP_CALLS: readonly Call[] = [
  { from: "outside the mesh", to: "frontend", count: 240 },
  { from: "frontend", to: "cart", count: 240 },
  { from: "frontend", to: "checkout", count: 80 },
  { from: "checkout", to: "payment", count: 80 },
  { from: "cart", to: "payment", count: 9, isDenied: true, path: "/charge" },
  { from: "payment", to: "ledger", count: 80 },
]

export async function answerShop(page: Page): Promise<void> {
  const items = SHOP_CALLS.map(({ from, to, count, isDenied = false, path = "/" }, at) => {
    const isOutside = from === "outside the mesh"
    const caller = isOutside ? { address: "10.0.0.9" } : { caller: `spiffe://cluster.local/ns/shop/sa/${from}` }
    return {
      metadata: { name: `call-${at}`, namespace: "shop" },
      spec: {
        ...{ workload: `shop/${to}`, ...caller, tls: !isOutside, port: 8080, protocol: "http", count, path },
        ...{ method: isDenied ? "POST" : "GET", verdict: isDenied ? "deny" : "allow", stage: "allow" },
        ...{ firstSeen: "2026-01-01T00:00:00Z", lastSeen: "2026-01-01T00:01:00Z" },
      },
    }
  })
  await page.route(/\/calls\?/, route => route.fulfill({ json: { items, metadata: {} } }))
}

/** Adds a call that only the caller's proxy reported. */
export async function answerDestination(page: Page): Promise<void> {
  const spec = {
    ...{ workload: "shop/cart-1", destination: "api.example:443", place: "outside", transport: "passthrough" },
    ...{ count: 3, failures: 1, lastReason: "`api.example` has no address", lastStatus: 0 },
    ...{ firstSeen: "2026-01-01T00:00:00Z", lastSeen: "2026-01-01T00:01:00Z" },
  }
  const items = [{ metadata: { name: "cart-1", namespace: "shop" }, spec }]
  await page.route(/\/destinations\?/, route => route.fulfill({ json: { items, metadata: {} } }))
}

/** A chain of calls through each namespace, and one from each namespace to the next. */
export async function answerManyServices(page: Page): Promise<void> {
  const each = SERVICES / NAMESPACES
  const call = (from: string, to: string, at: number) => ({
    metadata: { name: `call-${at}`, namespace: to.split("/")[0] },
    spec: {
      ...{
        workload: to,
        caller: `cluster.local/ns/${from.replace("/", "/sa/")}`,
        tls: true,
        port: 8080,
        count: at + 1,
      },
      ...{ method: "GET", path: "/", verdict: at % 97 === 0 ? "deny" : "allow", stage: "allow" },
      ...{ firstSeen: "2026-01-01T00:00:00Z", lastSeen: "2026-01-01T00:01:00Z" },
    },
  })
  const name = (namespace: number, service: number): string => `team-${namespace + 1}/service-${service + 1}`
  const items = Array.from({ length: NAMESPACES }, (_, namespace) => [
    ...Array.from({ length: each - 1 }, (__, service) =>
      call(name(namespace, service >> 1), name(namespace, service + 1), namespace * each + service),
    ),
    call(name(namespace, each - 1), name((namespace + 1) % NAMESPACES, 0), namespace * each + each - 1),
  ]).flat()
  await page.route(/\/calls\?/, route => route.fulfill({ json: { items, metadata: {} } }))
}
