// SPDX-License-Identifier: Apache-2.0
// Many proxies in one process: each has its own TLS connection with a stream, a token and a certificate, and uses
// xserver's client. As in xserver, each has its key signed first and keeps the certificate. They share one key, because
// generating keys is a cost of proxies. An update takes effect at once, so the benchmark measures the share of the
// control plane.

import { makeSigningRequest } from "@merlon/identity"
import { PROXY_RESOURCE } from "@merlon/xds"
import { LastSession, MeshClient, type Update } from "@merlon/xds/client"
import { type Member, monotonicMs, type Order, type Report } from "./messages.js"

interface Awaited {
  readonly text: string
  left: number
}

/** All proxies connect at once, but at most this many handshakes run concurrently, so that none times out. */
const MAX_CONNECTING = 16
/** Retry interval of connecting proxies while there is no control plane. */
const RETRY_MS = 500

/** A proxy with the state that it keeps across connections: versions by name, its session, and its certificate. */
interface Kept {
  readonly member: Member
  readonly held: Map<string, string>
  readonly session: LastSession
  chain: string | undefined
}

const own = makeSigningRequest()
const outside: Kept[] = []
const clients = new Set<MeshClient>()
let control = { address: "", trustBundle: "" }
let connecting = 0
let unserved = 0
let awaited: Awaited | undefined
let resources = 0
let attempts = 0
let onServed: (() => void) | undefined

function say(report: Report): void {
  process.send?.(report)
}

/** Reports after pending data was written, including the acknowledgement. */
function reached(): void {
  setImmediate(() => say({ kind: "reached", at: monotonicMs() }))
}

function connectMore(): void {
  while (connecting < MAX_CONNECTING) {
    const next = outside.shift()
    if (next === undefined) return
    connecting++
    connect(next)
  }
}

function connect(kept: Kept): void {
  const { member, held, session } = kept
  const { namespace, name, token } = member
  const { address, trustBundle } = control
  const client = new MeshClient({
    address,
    serverName: "localhost",
    trustBundle: () => trustBundle,
    proof: () => {
      attempts++
      const { chain } = kept
      return { token, ...(chain !== undefined && { certificate: { chain, privateKey: own.privateKey } }) }
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
    session,
    limits: { retryMs: RETRY_MS, longestRetryMs: RETRY_MS },
  })
  clients.add(client)
  client.onConnection(connected => {
    if (connected) {
      connecting--
      unserved--
      if (unserved === 0) onServed?.()
    } else {
      unserved++
      client.close()
      clients.delete(client)
      outside.push(kept)
    }
    connectMore()
  })
  void enrol(client, kept).then(() => client.start())
}

/** Retries without limit: a proxy cannot do without a certificate. */
async function enrol(client: MeshClient, kept: Kept): Promise<void> {
  while (kept.chain === undefined) {
    try {
      kept.chain = (await client.signCertificate(own.request)).certificateChain
    } catch {
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
    }
  }
}

function outsider(member: Member): Kept {
  return { member, held: new Map(), session: new LastSession(), chain: undefined }
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
      unserved += order.proxies.length
      outside.push(...order.proxies.map(outsider))
      connectMore()
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
