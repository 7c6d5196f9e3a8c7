// SPDX-License-Identifier: Apache-2.0
// Many proxies in one process: each a TLS connection with a stream and a token of its own, through the client that
// xserver uses. An update is in force at once, so what is measured is the control plane's share.

import { MeshClient, PROXY_RESOURCE, type Update } from "@merlon/xds"
import { type Member, monotonicMs, type Order, type Report } from "./messages.js"

interface Awaited {
  readonly text: string
  left: number
}

/** Proxies that come back spread out over half a minute would be no storm, so none waits longer than this. */
const STORM_MS = 1_000

let awaited: Awaited | undefined
let clients: readonly MeshClient[] = []
let resources = 0
let attempts = 0
let unserved = 0
let onServed: (() => void) | undefined

function say(report: Report): void {
  process.send?.(report)
}

/** After what is pending was written, the acknowledgement among it. */
function reached(): void {
  setImmediate(() => say({ kind: "reached", at: monotonicMs() }))
}

function connect(proxy: Member, address: string, trustBundle: string): MeshClient {
  const { namespace, name, token } = proxy
  const held = new Map<string, string>()
  const client = new MeshClient({
    address,
    serverName: "localhost",
    trustBundle: () => trustBundle,
    proof: () => {
      attempts++
      return { token }
    },
    node: { id: `${namespace}/${name}`, metadata: () => ({ address: proxy.address }) },
    subscriptions: [
      {
        typeUrl: PROXY_RESOURCE,
        names: () => "*",
        known: () => held,
        apply: async update => {
          for (const each of update.resources) held.set(each.name, each.version)
          for (const each of update.removed) held.delete(each)
          resources += update.resources.length + update.removed.length
          take(update)
        },
      },
    ],
    limits: { retryMs: STORM_MS, longestRetryMs: STORM_MS },
  })
  client.onConnection(connected => {
    unserved += connected ? -1 : 1
    if (unserved === 0) onServed?.()
  })
  client.start()
  return client
}

function take(update: Update): void {
  const wanted = awaited
  if (wanted === undefined || !update.resources.some(({ value }) => Buffer.from(value).includes(wanted.text))) return
  wanted.left--
  if (wanted.left === 0) reached()
}

function expectAll(anew: boolean): void {
  if (!anew && unserved === 0) reached()
  else
    onServed = () => {
      onServed = undefined
      reached()
    }
}

process.on("message", (order: Order) => {
  switch (order.kind) {
    case "connect":
      unserved = order.proxies.length
      clients = order.proxies.map(proxy => connect(proxy, order.address, order.trustBundle))
      break
    case "expect":
      awaited = { text: order.text, left: order.proxies }
      if (order.proxies === 0) reached()
      break
    case "expectAll":
      expectAll(order.anew)
      break
    case "count":
      say({ kind: "counted", resources, attempts })
      break
  }
})
process.on("disconnect", () => {
  for (const client of clients) client.close()
  process.exit(0)
})
