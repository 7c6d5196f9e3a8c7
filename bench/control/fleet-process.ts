// SPDX-License-Identifier: Apache-2.0
// Many proxies in one process: each a TLS connection with a stream and a token of its own, through the client that
// xserver uses. An update is in force at once, so what is measured is the control plane's share.

import { MeshClient, PROXY_RESOURCE, type Update } from "@merlon/xds"
import { type Member, monotonicMs, type Order, type Report } from "./messages.js"

interface Awaited {
  readonly text: string
  left: number
}

/** All want in at once, but no more try than can shake hands before somebody loses patience. */
const AT_THE_DOOR = 64
/** While there is no control plane, those at the door knock this often. */
const KNOCK_MS = 500

interface Awaited {
  readonly text: string
  left: number
}

/** Who is outside, with what they hold: versions by name. */
const outside: { readonly member: Member; readonly held: Map<string, string> }[] = []
const clients = new Set<MeshClient>()
let control = { address: "", trustBundle: "" }
let atTheDoor = 0
let unserved = 0
let awaited: Awaited | undefined
let resources = 0
let attempts = 0
let onServed: (() => void) | undefined

function say(report: Report): void {
  process.send?.(report)
}

/** After what is pending was written, the acknowledgement among it. */
function reached(): void {
  setImmediate(() => say({ kind: "reached", at: monotonicMs() }))
}

function letIn(): void {
  while (atTheDoor < AT_THE_DOOR) {
    const next = outside.shift()
    if (next === undefined) return
    atTheDoor++
    connect(next.member, next.held)
  }
}

function connect(member: Member, held: Map<string, string>): void {
  const { namespace, name, token } = member
  const { address, trustBundle } = control
  const client = new MeshClient({
    address,
    serverName: "localhost",
    trustBundle: () => trustBundle,
    proof: () => {
      attempts++
      return { token }
    },
    node: { id: `${namespace}/${name}`, metadata: () => ({ address: member.address }) },
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
    limits: { retryMs: KNOCK_MS, longestRetryMs: KNOCK_MS },
  })
  clients.add(client)
  client.onConnection(connected => {
    if (connected) {
      atTheDoor--
      unserved--
      if (unserved === 0) onServed?.()
    } else {
      unserved++
      client.close()
      clients.delete(client)
      outside.push({ member, held })
    }
    letIn()
  })
  client.start()
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
      control = order
      unserved = order.proxies.length
      outside.push(...order.proxies.map(member => ({ member, held: new Map<string, string>() })))
      letIn()
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
