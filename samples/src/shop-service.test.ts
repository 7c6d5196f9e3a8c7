// SPDX-License-Identifier: Apache-2.0
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, it } from "vitest"
import { isService, SHOP, shopService } from "./shop-service.js"

const seen: string[] = []
const listeners = new Map<string, RequestListener>()
/** Replaces the proxies of the workloads. */
const proxy = createServer((request, response) => {
  const { hostname, pathname } = new URL(request.url ?? "")
  const service = hostname.split(".")[0] ?? ""
  seen.push(`${request.method} ${service}${pathname}`)
  request.url = pathname
  listeners.get(service)?.(request, response)
})

beforeAll(async () => {
  await new Promise<void>(resolve => proxy.listen(0, "127.0.0.1", resolve))
  const { port } = proxy.address() as AddressInfo
  for (const name of Object.keys(SHOP).filter(isService))
    listeners.set(name, shopService(name, `http://127.0.0.1:${port}`))
})
afterAll(() => {
  proxy.closeAllConnections()
  proxy.close()
})

const visit = async (path: string): Promise<readonly string[]> => {
  seen.length = 0
  const server = createServer((request, response) => listeners.get("frontend")?.(request, response))
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
  try {
    await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)).text()
    return [...seen]
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

it("makes every call of the chain when a visitor buys", async () => {
  expect(await visit("/buy")).toEqual([
    "GET cart/items",
    "POST checkout/orders",
    "POST payment/charge",
    "POST ledger/entries",
  ])
})

it("makes cart call payment on every sixth request", async () => {
  const calls: string[] = []
  for (let visits = 0; visits < 6; visits++) calls.push(...(await visit("/")))
  expect(calls.filter(call => call === "POST payment/charge")).toHaveLength(1)
  expect(calls.filter(call => call === "GET cart/items")).toHaveLength(6)
})
