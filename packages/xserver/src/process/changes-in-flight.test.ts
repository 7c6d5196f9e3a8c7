// SPDX-License-Identifier: Apache-2.0
// A change applies to open connections: what it denies is closed, counted and logged; the rest continues.
import { createHash } from "node:crypto"
import { type EventEmitter, once } from "node:events"
import { createServer as createHttp, type RequestListener } from "node:http"
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { meshConfig } from "@merlon/policy/mesh"
import type { PolicyDocument } from "@merlon/policy/resources"
import { eventually } from "@merlon/wire/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Authority, GOOD_ID } from "../accept/testing/certificates.js"
import type { ApplicationPort } from "../config/application-port.js"
import type { Configuration } from "../config/configuration.js"
import { DEFAULT_LIMITS } from "../limits.js"
import { LocalDataPath } from "./local-data-path.js"

const authority = new Authority()
const material = authority.material()
const { certificate, privateKey, serial } = authority.issue()
const newAuthority = new Authority("Another test authority")
const portOf = (server: Server) => (server.address() as AddressInfo).port // all of them are TCP servers

const policy = (kind: PolicyDocument["kind"], spec: object, namespace = "foo"): PolicyDocument =>
  // Written as a user would; `compile` rejects an invalid one.
  ({ apiVersion: "security.merlon.dev/v1alpha3", kind, metadata: { name: "p", namespace }, spec }) as PolicyDocument
const denyPath = policy("AuthorizationPolicy", {
  action: "DENY",
  rules: [{ to: [{ operation: { paths: ["/open*"], ports: ["8080"] } }] }],
})
const denyPort = policy("AuthorizationPolicy", {
  action: "DENY",
  rules: [{ to: [{ operation: { ports: ["9000"] } }] }],
})
const denyOther = policy("AuthorizationPolicy", {
  action: "DENY",
  rules: [{ to: [{ operation: { paths: ["/other"], ports: ["8080"] } }] }],
})
const strict = policy("PeerAuthentication", { mtls: { mode: "STRICT" } }, "merlon-system")

/** `/open/wait` is never answered; every other response begins and never ends. */
const application: RequestListener = (incoming, reply) => {
  if (incoming.url === "/open/wait") return
  reply.write("begun\n")
}
const http = createHttp(application)
http.on("upgrade", ({ headers }, socket: Socket) => {
  const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
  socket.on("error", () => undefined)
  socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n")
  socket.write(`Sec-WebSocket-Accept: ${accept.digest("base64")}\r\n\r\nbegun\n`)
})
const tcp = createServer(socket => socket.on("error", () => undefined).write("begun\n"))
let path: LocalDataPath
let revision = 0
const sockets: (Socket | ClientHttp2Session)[] = []

beforeEach(async () => {
  for (const server of [http, tcp]) {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  }
  path = new LocalDataPath({ mesh: "merlon", limits: { ...DEFAULT_LIMITS, drainTimeoutMs: 1 }, accessLog: "off" })
  await apply({})
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await path.drain()
  http.closeAllConnections()
  for (const server of [http, tcp]) server.close()
})

const port = (number: number, protocol: ApplicationPort["protocol"], server: Server): ApplicationPort => ({
  port: number,
  listen: { host: "127.0.0.1", port: 0 },
  upstream: { host: "127.0.0.1", port: portOf(server) },
  protocol,
  upstreamProtocol: "http/1.1",
  serviceNames: [],
})

async function apply({
  policies = [],
  revocations = {},
  tls = material,
  mesh = meshConfig(),
}: {
  policies?: readonly PolicyDocument[]
  revocations?: Partial<Configuration["revocations"]>
  tls?: Configuration["tls"]
  mesh?: Configuration["mesh"]
}): Promise<void> {
  await path.apply({
    revision: ++revision,
    mesh,
    workload: { namespace: "foo", name: "a", serviceAccount: "default", labels: {} },
    ports: [port(8080, "http", http), port(9000, "tcp", tcp)],
    policies,
    keySets: {},
    tls,
    revocations: { identities: [], serials: [], ...revocations },
    probes: {},
  })
}

async function ended(): Promise<string> {
  const [metrics] = await path.metrics()
  const counted = metrics?.find(({ name }) => name === "merlon_xserver_ended_by_change_total")
  return (counted?.values ?? []).map(({ labels, value }) => `${labels.protocol} ${labels.stage} ${value}`).join()
}

interface Live {
  readonly text: () => string
  /** Resolves when it has been closed. */
  readonly gone: Promise<unknown>
  /** Resolves when it has sent the word. */
  says(word: string): Promise<void>
}

function received(peer: EventEmitter, word: string, text: () => string): Promise<void> {
  return eventually(() => text().includes(word), {
    what: `the peer says \`${word}\``,
    state: () => JSON.stringify(text()),
    change: signal => once(peer, "data", { signal }),
  })
}

function live(socket: Socket): Live {
  let text = ""
  sockets.push(socket.on("error", () => undefined))
  socket.on("data", chunk => {
    text += String(chunk)
  })
  const gone = new Promise(resolve => socket.once("close", resolve))
  const says = (word: string) => received(socket, word, () => text)
  return { text: () => text, gone, says }
}

function dial(which: 0 | 1, secure: boolean): Socket {
  const at = { host: "127.0.0.1", port: path.addresses()[which]?.port ?? 0 }
  const own = { cert: certificate, key: privateKey, rejectUnauthorized: false, ALPNProtocols: ["merlon"] }
  return secure ? connectTls({ ...at, ...own, ALPNProtocols: which === 0 ? ["http/1.1"] : ["merlon"] }) : connect(at)
}

async function tunnel(secure: boolean): Promise<Live> {
  const socket = dial(1, secure)
  const opened = live(socket)
  socket.write("x")
  await opened.says("begun")
  return opened
}

async function request(secure: boolean, target: string, headers = ""): Promise<Live> {
  const socket = dial(0, secure)
  const opened = live(socket)
  const reached = once(http, headers === "" ? "request" : "upgrade")
  socket.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`)
  await reached
  if (target !== "/open/wait") await opened.says("begun")
  return opened
}

const webSocket = (secure: boolean) => request(secure, "/open/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n")

async function stream(secure: boolean, target: string, protocol?: "websocket"): Promise<Live> {
  const where = `127.0.0.1:${path.addresses()[0]?.port}`
  const session = secure
    ? connectHttp2(`https://${where}`, { cert: certificate, key: privateKey, rejectUnauthorized: false })
    : connectHttp2(`http://${where}`)
  sockets.push(session.on("error", () => undefined))
  if (protocol !== undefined) await once(session, "remoteSettings")
  const asked = session.request({
    ":path": target,
    ...(protocol && { ":method": "CONNECT", ":scheme": "http", ":protocol": protocol, "sec-websocket-version": "13" }),
  })
  asked.on("error", () => undefined)
  let text = ""
  asked.on("response", headers => {
    text += `${headers[":status"]} `
  })
  asked.on("data", chunk => {
    text += String(chunk)
  })
  const gone = new Promise(resolve => asked.once("close", resolve))
  const says = (word: string) => received(asked, word, () => text)
  if (target === "/open/wait") await once(http, "request")
  else await says("begun")
  return { text: () => text, gone, says }
}

type Opening = (secure: boolean) => Promise<Live>
const OPENINGS: readonly (readonly [string, string, Opening, PolicyDocument, string])[] = [
  ["a TCP connection", "tcp", tunnel, denyPort, "deny"],
  ["a WebSocket", "http/1.1", webSocket, denyPath, "deny"],
  ["a response without end", "http/1.1", secure => request(secure, "/open/sse"), denyPath, "deny"],
  ["a WebSocket over HTTP/2", "h2", secure => stream(secure, "/open/ws", "websocket"), denyPath, "deny"],
  ["an HTTP/2 stream", "h2", secure => stream(secure, "/open/stream"), denyPath, "deny"],
]

describe.each(OPENINGS)("%s", (_, protocol, open, deny, stage) => {
  it("ends with a policy that denies it, and is counted and logged", async () => {
    const opened = await open(false)
    await apply({ policies: [deny] })
    await opened.gone
    expect(await ended()).toBe(`${protocol} ${stage} 1`)
    const [decision] = await path.decisions()
    expect(decision).toMatchObject({ verdict: "deny", stage, protocol, id: expect.any(String) })
    expect(decision?.reason).toContain("denied by foo/p rules[0]")
  })

  it("survives a change that does not affect it", async () => {
    const opened = await open(false)
    await apply({ policies: [denyOther] })
    expect(await ended()).toBe("")
    await apply({ policies: [deny] })
    await opened.gone
    expect(await ended()).toBe(`${protocol} ${stage} 1`)
  })

  it("ends with a mode that does not allow it", async () => {
    const [clear, mutual] = [await open(false), await open(true)]
    await apply({ policies: [strict] })
    await clear.gone
    expect(await ended()).toBe(`${protocol} transport 1`)
    await apply({ policies: [strict, deny] })
    await mutual.gone
    expect(await ended()).toBe(`${protocol} transport 1,${protocol} ${stage} 1`)
  })

  it.each([
    ["identity", { identities: [GOOD_ID] }],
    ["certificate", { serials: [serial] }],
  ])("ends with the revocation of its caller's %s", async (_name, revocations) => {
    const opened = await open(true)
    await apply({ revocations: { identities: ["spiffe://cluster.local/ns/other/sa/other"] } })
    expect(await ended()).toBe("")
    await apply({ revocations })
    await opened.gone
    expect(await ended()).toBe(`${protocol} revoked 1`)
    expect((await path.decisions())[0]).toMatchObject({ verdict: "deny", stage: "revoked" })
  })

  it("ends when its caller's root is removed, and not before", async () => {
    const opened = await open(true)
    const trustBundle = authority.certificate + newAuthority.certificate
    await apply({ tls: { ...material, trustBundle } })
    await apply({ tls: { ...newAuthority.material(), trustBundle } })
    await apply({ tls: { ...newAuthority.material(), trustBundle: authority.certificate } })
    expect(await ended()).toBe("")
    await apply({ tls: newAuthority.material() })
    await opened.gone
    expect(await ended()).toBe(`${protocol} revoked 1`)
    expect((await path.decisions())[0]).toMatchObject({ verdict: "deny", stage: "revoked" })
  })

  it("ends when its caller's trust domain is no longer an alias of the mesh's", async () => {
    const opened = await open(true)
    await apply({ mesh: meshConfig({ trustDomain: "new.example", trustDomainAliases: ["cluster.local"] }) })
    expect(await ended()).toBe("")
    await apply({ mesh: meshConfig({ trustDomain: "new.example" }) })
    await opened.gone
    expect(await ended()).toBe(`${protocol} revoked 1`)
  })
})

it.each<[string, Opening, RegExp]>([
  [
    "HTTP/1.1",
    secure => request(secure, "/open/wait"),
    /^HTTP\/1.1 403 Forbidden[\s\S]*x-merlon-decision: [\s\S]*RBAC/,
  ],
  ["HTTP/2", secure => stream(secure, "/open/wait"), /^403 RBAC/],
])("a request over %s that has no response yet gets the denial", async (_, open, expected) => {
  const opened = await open(false)
  await apply({ policies: [denyPath] })
  await opened.says("RBAC")
  expect(opened.text()).toMatch(expected)
})

describe("a TLS session from before a change", () => {
  type Change = Parameters<typeof apply>[0]

  /**
   * The result of a request on a connection that offers the session: a status, or nothing if the connection is closed.
   */
  async function answered(session?: Buffer): Promise<{ status: string; resumed: boolean; session?: Buffer }> {
    const at = { host: "127.0.0.1", port: path.addresses()[0]?.port ?? 0, ALPNProtocols: ["http/1.1"] }
    const own = { cert: certificate, key: privateKey, rejectUnauthorized: false, minVersion: "TLSv1.3" } as const
    const socket = connectTls({ ...at, ...own, ...(session && { session }) })
    const opened = live(socket)
    let offered: Buffer | undefined
    socket.on("session", (ticket: Buffer) => {
      offered = ticket
    })
    socket.write("GET /other HTTP/1.1\r\nHost: a\r\n\r\n")
    await Promise.race([opened.says("\n"), opened.gone])
    const status = /^HTTP\/1.1 (\d+)/.exec(opened.text())?.[1] ?? "none"
    return { status, resumed: socket.isSessionReused(), ...(offered && { session: offered }) }
  }

  it("is resumed if the change does not affect its caller", async () => {
    const { session } = await answered()
    await apply({ policies: [denyPath] })
    expect(await answered(session)).toMatchObject({ status: "200", resumed: true })
  })

  it.each<[string, Change]>([
    ["its caller's identity was revoked", { revocations: { identities: [GOOD_ID] } }],
    ["its caller's certificate was revoked", { revocations: { serials: [serial] } }],
    ["its caller's root was removed", { tls: newAuthority.material() }],
    ["the root was replaced by another of the same name", { tls: new Authority().material() }],
    ["its caller's trust domain is no longer ours", { mesh: meshConfig({ trustDomain: "new.example" }) }],
  ])("is not resumed: %s", async (_, change) => {
    const { session } = await answered()
    await apply(change)
    const fresh = await answered()
    expect(fresh.status).not.toBe("200")
    expect((await answered(session)).status).toBe(fresh.status)
    await apply({})
    expect((await answered()).status).toBe("200")
  })
})
