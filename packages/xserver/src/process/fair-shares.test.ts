// SPDX-License-Identifier: Apache-2.0
// One caller attacks in every way while another one is served throughout: callers share all limited resources fairly.
import { once } from "node:events"
import { createServer as createHttp, type RequestListener } from "node:http"
import { type ClientHttp2Session, connect as connectHttp2, createServer as createHttp2 } from "node:http2"
import { type AddressInfo, connect, type Server, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { meshConfig } from "@merlon/policy/mesh"
import { afterEach, describe, expect, it } from "vitest"
import { Authority } from "../accept/testing/certificates.js"
import type { ApplicationPort } from "../config/application-port.js"
import { DEFAULT_LIMITS, type Limits } from "../limits.js"
import { LocalDataPath } from "./local-data-path.js"

const LIMITS = { upstreamConnections: 16, upstreamStreams: 16, pendingRequests: 8, drainTimeoutMs: 1 }
/** More than the number of slots. */
const ATTACK_SIZE = 30
const STREAMS = 10
const authority = new Authority()
const credentials = (name: string) => authority.issue({ uris: [`spiffe://cluster.local/ns/shop/sa/${name}`] })
const GREEDY = credentials("greedy")
const POLITE = credentials("polite")
const portOf = (server: Server) => (server.address() as AddressInfo).port // all of them are TCP servers

/** `/polite` is answered; other responses never end, and some never begin. */
const application: RequestListener = (incoming, reply) => {
  if (incoming.url === "/polite") reply.end("polite")
  else if (incoming.url === "/endless") reply.write("x".repeat(300_000))
}
let app: Server
let path: LocalDataPath
const open: (Socket | ClientHttp2Session)[] = []

afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy()
  await path.drain()
  app.close()
})

async function startApplication(speaks: ApplicationPort["upstreamProtocol"]): Promise<void> {
  app = speaks === "h2c" ? createHttp2() : createHttp()
  app.on("request", application)
  app.on("connection", (socket: Socket) => open.push(socket.on("error", () => undefined)))
  app.on("upgrade", (_, socket: Socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
  })
  app.listen(0, "127.0.0.1")
  await once(app, "listening")
}

async function start(
  upstreamProtocol: ApplicationPort["upstreamProtocol"],
  limits: Partial<Limits> = {},
): Promise<void> {
  await startApplication(upstreamProtocol)
  path = new LocalDataPath({ mesh: "merlon", limits: { ...DEFAULT_LIMITS, ...LIMITS, ...limits }, accessLog: "off" })
  const at = {
    listen: { host: "127.0.0.1", port: 0 },
    upstream: { host: "127.0.0.1", port: portOf(app) },
  }
  await path.apply({
    revision: 1,
    mesh: meshConfig(),
    workload: { namespace: "foo", name: "a", serviceAccount: "default", labels: {} },
    ports: [{ ...at, port: 8080, protocol: "http", upstreamProtocol, serviceNames: [] }],
    policies: [],
    keySets: {},
    tls: authority.material(),
    revocations: { identities: [], serials: [] },
    probes: {},
  })
}

const port = () => path.addresses()[0]?.port ?? 0

/** Callers are told apart by identity under mTLS, by address in cleartext. */
type CallerId = { readonly credentials: typeof GREEDY } | { readonly address: string }

async function dial(caller: CallerId): Promise<Socket> {
  const at = { host: "127.0.0.1", port: port() }
  const socket =
    "address" in caller
      ? connect({ ...at, localAddress: caller.address })
      : connectTls({
          ...at,
          cert: caller.credentials.certificate,
          key: caller.credentials.privateKey,
          rejectUnauthorized: false,
        })
  open.push(socket.on("error", () => undefined))
  await Promise.race([once(socket, "address" in caller ? "connect" : "secureConnect"), once(socket, "close")])
  return socket
}

async function served(caller: CallerId): Promise<string> {
  const socket = await dial(caller)
  let text = ""
  socket.on("data", chunk => {
    text += String(chunk)
  })
  socket.write("GET /polite HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
  await once(socket, "close")
  return text.slice(9, 12)
}

async function limitsHit(): Promise<readonly string[]> {
  const [metrics] = await path.metrics()
  return (metrics ?? [])
    .filter(({ name }) => name === "merlon_xserver_limits_hit_total")
    .flatMap(({ values }) => values.map(({ labels }) => String(labels.limit)))
}

const sends = (text: string) => async (caller: CallerId) => {
  const socket = await dial(caller)
  socket.write(text)
  return socket
}
const stalls = async (caller: CallerId) => {
  const socket = await sends("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")(caller)
  return socket.pause()
}

async function session(caller: CallerId): Promise<ClientHttp2Session> {
  const client =
    "address" in caller
      ? connectHttp2(`http://127.0.0.1:${port()}`, {
          createConnection: () => connect({ host: "127.0.0.1", port: port(), localAddress: caller.address }),
        })
      : connectHttp2(`https://127.0.0.1:${port()}`, {
          cert: caller.credentials.certificate,
          key: caller.credentials.privateKey,
          rejectUnauthorized: false,
        })
  open.push(client.on("error", () => undefined))
  await once(client, "connect")
  return client
}

const streams = (headers: Record<string, string>) => async (caller: CallerId) => {
  const client = await session(caller)
  for (let n = 0; n < STREAMS; n++) {
    // A stream that is never read keeps its window closed.
    client
      .request({ ":method": "POST", ":path": "/slow", ...headers }, { endStream: false })
      .on("error", () => undefined)
  }
}

type Attack = (caller: CallerId) => Promise<unknown>
const UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
const ATTACKS: readonly (readonly [string, Attack, ApplicationPort["upstreamProtocol"]])[] = [
  ["requests that are never answered", sends("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"), "http/1.1"],
  ["bodies that never end", sends("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"), "http/1.1"],
  ["unread responses", stalls, "http/1.1"],
  ["WebSockets", sends(`GET /ws HTTP/1.1\r\nHost: a\r\n${UPGRADE}\r\n`), "http/1.1"],
  ["streams", streams({}), "http/1.1"],
  ["streams with stalled windows", streams({ ":path": "/endless" }), "http/1.1"],
  ["streams to an application that speaks HTTP/2", streams({}), "h2c"],
  ["gRPC streams", streams({ "content-type": "application/grpc" }), "h2c"],
  ["requests to an application that speaks HTTP/2", sends("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"), "h2c"],
]

describe.each<[string, CallerId, CallerId]>([
  ["identity", { credentials: GREEDY }, { credentials: POLITE }],
  ["address", { address: "127.0.0.2" }, { address: "127.0.0.3" }],
])("told apart by their %s, one caller with", (_, greedy, polite) => {
  it.each(ATTACKS)("%s does not prevent another from being served", async (name, attack, protocol) => {
    await start(protocol)
    const times = name.includes("streams") ? ATTACK_SIZE / STREAMS : ATTACK_SIZE
    for (let n = 0; n < times; n++) {
      await attack(greedy)
      if (n % 10 === 0) expect(await served(polite)).toBe("200")
    }
    for (let n = 0; n < 4; n++) expect(await served(polite)).toBe("200")
    expect(await limitsHit()).toContain("callerSharePercent")
  })
})

it("one address cannot take all connections of a listener", async () => {
  await start("http/1.1", { connections: 20 })
  const greedy = { address: "127.0.0.2" }
  for (let n = 0; n < 40; n++) await dial(greedy)
  for (let n = 0; n < 10; n++) expect(await served({ address: "127.0.0.3" })).toBe("200")
  expect(await limitsHit()).toEqual(["callerSharePercent"])
})

it("a caller alone gets its share, and further requests wait for a slot of its own", async () => {
  await start("http/1.1", { callerSharePercent: 50 })
  const held: Socket[] = []
  const first = once(app, "request")
  for (let n = 0; n < 8; n++) held.push(await sends("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")({ address: "127.0.0.2" }))
  await first
  const waiting = served({ address: "127.0.0.2" })
  expect(await served({ address: "127.0.0.3" })).toBe("200")
  held[0]?.resetAndDestroy()
  expect(await waiting).toBe("200")
})
