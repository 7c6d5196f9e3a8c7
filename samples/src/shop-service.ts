// SPDX-License-Identifier: Apache-2.0
// A service of the shop: makes the calls of the requested path, then responds. A call that is denied or fails is part
// of the demonstration and does not make the request fail.

import { Agent, type RequestListener, request } from "node:http"

interface Call {
  readonly method: "GET" | "POST"
  readonly service: string
  readonly path: string
}

const get = (service: string, path: string): Call => ({ method: "GET", service, path })
const post = (service: string, path: string): Call => ({ method: "POST", service, path })

/** The calls that each service makes, by path. */
export const SHOP = {
  frontend: { "/": [get("cart", "/items")], "/buy": [get("cart", "/items"), post("checkout", "/orders")] },
  cart: { "/items": [] },
  checkout: { "/orders": [post("payment", "/charge")] },
  payment: { "/charge": [post("ledger", "/entries")] },
  ledger: { "/entries": [] },
} as const satisfies Record<string, Record<string, readonly Call[]>>

export type ShopService = keyof typeof SHOP

const PORT = 8_080
const TIMEOUT_MS = 5_000
const agent = new Agent({ keepAlive: true, maxSockets: 4 })

export function isService(name: string): name is ShopService {
  return Object.hasOwn(SHOP, name)
}

export function shopService(name: ShopService, proxy: string | undefined): RequestListener {
  const routes: Readonly<Record<string, readonly Call[]>> = SHOP[name]
  let handled = 0
  return (incoming, response) => {
    incoming.resume()
    const path = (incoming.url ?? "/").split("?")[0] ?? "/"
    const calls = [...(routes[path] ?? [])]
    // The policies of the shop deny this call.
    if (name === "cart" && path === "/items" && ++handled % 6 === 0) calls.push(post("payment", "/charge"))
    void statusesOf(calls, proxy).then(statuses => {
      const text = `${JSON.stringify({ service: name, path, calls: statuses })}\n`
      response.writeHead(path === "/" || path in routes ? 200 : 404, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
      })
      response.end(text)
    })
  }
}

async function statusesOf(calls: readonly Call[], proxy: string | undefined): Promise<readonly number[]> {
  const statuses: number[] = []
  for (const call of calls) statuses.push(await statusOf(call, proxy))
  return statuses
}

/** Returns 0 if there is no response. */
function statusOf({ method, service, path }: Call, proxy: string | undefined): Promise<number> {
  const host = `${service}.shop:${PORT}`
  const place = new URL(proxy ?? `http://${host}`)
  return new Promise(resolve => {
    const sent = request({
      agent,
      method,
      host: place.hostname,
      port: place.port,
      path: proxy === undefined ? path : `http://${host}${path}`,
      headers: { host, ...(method === "POST" ? { "content-length": 0 } : {}) },
      timeout: TIMEOUT_MS,
    })
    sent.on("response", answer => {
      answer.resume()
      answer.on("close", () => resolve(answer.statusCode ?? 0))
    })
    sent.on("timeout", () => sent.destroy())
    sent.on("error", () => resolve(0))
    sent.end()
  })
}
