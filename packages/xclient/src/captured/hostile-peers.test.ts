// SPDX-License-Identifier: Apache-2.0
// Captured calls to servers that are revoked, expired or silent, and from programs that send too much: each fails with
// a reason, and other calls continue.

import { once } from "node:events"
import { request } from "node:http"
import { connect as connectHttp2, createServer as createHttp2, type ServerHttp2Stream } from "node:http2"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { createServer as createTls } from "node:tls"
import { certificateFacts } from "@merlon/identity"
import { encodeHostRoutes, type ServiceEndpoint, type TrustSpec } from "@merlon/xds"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { WorkloadCalls } from "../member/workload-calls.js"
import { TestMesh, WEB_ID } from "../testing/mesh.js"
import { CapturedProxy } from "./captured-proxy.js"

const HTTP = { address: "127.96.0.7", port: 80 }
/** Forwarded as bytes: no client speaks HTTP to PostgreSQL. */
const BYTES = { address: "127.96.0.7", port: 5432 }
const HOUR = 3_600_000

let mesh: TestMesh
let logged: { readonly why?: string }[]
let revision = 0
const closing: (() => unknown)[] = []

beforeEach(() => {
  mesh = new TestMesh()
  logged = []
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await mesh.close()
})

async function listening(server: Server): Promise<ServiceEndpoint> {
  const sockets = new Set<Socket>()
  server.on("connection", socket => sockets.add(socket))
  await once(server.listen(0, "127.0.0.1"), "listening")
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { address, port } = server.address() as AddressInfo // it listens on TCP
  return { address, port, healthy: true, workload: "app/web", mtlsMode: "STRICT" }
}

type Serve = (stream: ServerHttp2Stream) => void
const answers: Serve = stream => {
  stream.respond({ ":status": 200 })
  stream.end("ok")
}
/** Begins a response that never ends. */
const streams: Serve = stream => {
  stream.respond({ ":status": 200 })
  stream.write("first")
}

interface MeshServer {
  readonly endpoint: ServiceEndpoint
  readonly serial: string
  readonly requests: () => number
}

/**
 * Serves HTTP/2 to clients that offer it, and echoes bytes to others. With `serve` undefined, it sends nothing after
 * the handshake.
 */
async function server(serve: Serve | undefined, credentials = mesh.credentials(WEB_ID)): Promise<MeshServer> {
  const { certificateChain: cert, privateKey: key } = credentials
  let requests = 0
  const http2 = createHttp2()
  http2.on("stream", stream => {
    requests++
    stream.on("error", () => undefined)
    serve?.(stream)
  })
  const tls = { cert, key, ca: mesh.authority.bundle, requestCert: true, rejectUnauthorized: true }
  const listener = createTls({ ...tls, ALPNProtocols: ["merlon-h2", "merlon"] }, socket => {
    socket.on("error", () => undefined)
    if (serve === undefined) socket.pause()
    else if (socket.alpnProtocol === "merlon-h2") http2.emit("connection", socket)
    else socket.pipe(socket)
  })
  const endpoint = await listening(listener)
  return { endpoint, serial: certificateFacts(cert).serial, requests: () => requests }
}

interface Running {
  readonly port: number
  /** Sets the routes of the destination, and the trust bundle. */
  readonly routes: (endpoints: readonly ServiceEndpoint[], trust?: Partial<TrustSpec>) => Promise<void>
}

async function start(destination = HTTP, connectTimeoutMs = 60_000, probeAfterMs?: number): Promise<Running> {
  const credentials = mesh.credentials()
  const log = { info() {}, warn: (fields: object) => logged.push(fields), error() {} }
  const calls = new WorkloadCalls({
    ...{ mesh: "merlon", connectTimeoutMs, probeAfterMs, resubscribe: () => undefined, log },
    credentials: () => credentials,
  })
  const { knownRoutes, outbound, requests } = calls
  const proxy = new CapturedProxy({
    ...{ knownRoutes, outbound, requests, log, destinationOf: () => destination, isControlPlaneAway: () => false },
    limits: { silenceMs: 60_000 },
  })
  closing.push(() => {
    calls.close()
    return proxy.close(0)
  })
  const { port } = await proxy.listen(0)
  const name = `${destination.address}:${destination.port}`
  knownRoutes.ask(name)
  return {
    port,
    routes: (endpoints, trust = {}) => {
      const spec = mesh.routes([{ subset: "", endpoints }], { trust: { ...mesh.trust, ...trust } })
      const resources = [{ name, version: String(++revision), value: encodeHostRoutes(spec) }]
      return knownRoutes.subscription.apply({ revision, resources, removed: [] })
    },
  }
}

interface Got {
  readonly status: number
  readonly code: string | undefined
  readonly body: string
}

async function get(port: number, headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Got> {
  const asked = request({ host: "127.0.0.1", port, method, agent: false, headers: { host: "web.app", ...headers } })
  asked.end()
  const [answer] = await once(asked, "response")
  let body = ""
  for await (const chunk of answer) body += chunk
  return { status: answer.statusCode, code: answer.headers["x-merlon-failure"], body }
}

describe.each<[string, (serial: string) => Partial<TrustSpec>]>([
  ["identity", () => ({ revokedIdentities: [WEB_ID] })],
  ["certificate", serial => ({ revokedSerials: [serial] })],
])("a server whose %s is revoked", (_, revoked) => {
  it("loses the responses that it is still sending, and gets no further request", async () => {
    const web = await server(streams)
    const { port, routes } = await start()
    await routes([web.endpoint])
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    closing.push(() => session.destroy())
    const stream = session.request({ ":authority": "web.app" })
    const ended = new Promise(resolve => stream.on("error", resolve).on("close", resolve))
    await once(stream, "data")
    await routes([web.endpoint], revoked(web.serial))
    await ended
    expect(await get(port)).toMatchObject({
      status: 503,
      code: "unreachable",
      body: expect.stringContaining("revoked"),
    })
    expect(web.requests()).toBe(1)
  })

  it("loses its tunnels", async () => {
    const web = await server(answers)
    const { port, routes } = await start(BYTES)
    await routes([web.endpoint])
    const socket = connect(port, "127.0.0.1")
    socket.write("bytes")
    await once(socket, "data")
    await routes([web.endpoint], revoked(web.serial))
    await expect(once(socket, "end")).rejects.toThrow("ECONNRESET")
  })
})

describe("a server whose certificate has expired", () => {
  const expired = () => server(answers, mesh.credentials(WEB_ID, mesh.authority, Date.now() - 2 * HOUR))

  it("gets no request", async () => {
    const web = await expired()
    const { port, routes } = await start()
    await routes([web.endpoint])
    expect(await get(port)).toMatchObject({
      status: 503,
      code: "unreachable",
      body: expect.stringContaining("expired"),
    })
    expect(web.requests()).toBe(0)
  })

  it("gets no bytes", async () => {
    const web = await expired()
    const { port, routes } = await start(BYTES)
    await routes([web.endpoint])
    const socket = connect(port, "127.0.0.1")
    socket.write("secret")
    await expect(once(socket, "data")).rejects.toThrow("ECONNRESET")
    expect(logged[0]?.why).toContain("expired")
  })
})

describe("an endpoint that accepts connections and sends nothing", () => {
  const silent = () => listening(createServer(socket => socket.on("error", () => undefined)))

  it("is given up for the next one", async () => {
    const web = await server(answers)
    // Long enough for a handshake with the other endpoint on a busy machine.
    const { port, routes } = await start(HTTP, 4_000)
    await routes([await silent(), web.endpoint])
    for (let count = 0; count < 4; count++) expect(await get(port)).toMatchObject({ status: 200 })
  })

  it("is named with a reason if there is no other", async () => {
    const { port, routes } = await start(HTTP, 200)
    await routes([await silent()])
    expect(await get(port)).toMatchObject({ status: 503, code: "unreachable" })
  })
})

describe("a server whose machine vanishes after the handshake", () => {
  it("is given up, and its requests are sent elsewhere if that is safe", async () => {
    const other = await server(answers)
    // Long enough for the other endpoint on a busy machine.
    const { port, routes } = await start(HTTP, 60_000, 1_000)
    await routes([(await server(undefined)).endpoint, other.endpoint])
    for (let count = 0; count < 2; count++) expect(await get(port)).toMatchObject({ status: 200 })
    expect(other.requests()).toBe(2)
  })

  it("is given up with a reason if an application may have acted on the request", async () => {
    const { port, routes } = await start(HTTP, 60_000, 50)
    await routes([(await server(undefined)).endpoint])
    expect(await get(port, {}, "POST")).toMatchObject({ status: 502, code: "cut-off" })
  })

  it("is not mistaken for a slow one that answers pings", async () => {
    const slow = await server(stream => void stream.session?.once("ping", () => stream.end("at last")))
    const { port, routes } = await start(HTTP, 60_000, 2_000)
    await routes([slow.endpoint])
    expect(await get(port)).toMatchObject({ status: 200, body: "at last" })
  })
})

describe("a program that sends too much of a header", () => {
  it.each([
    ["one line", { "x-much": "x".repeat(70_000) }],
    ["many lines", Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x-${index}`, "x"]))],
  ])("(%s) gets 431, and others are served", async (_, headers) => {
    const web = await server(answers)
    const { port, routes } = await start()
    await routes([web.endpoint])
    expect((await get(port, headers)).status).toBe(431)
    expect(await get(port)).toMatchObject({ status: 200, body: "ok" })
    expect(web.requests()).toBe(1)
  })
})

it("a program that ends its direction after the request gets its response", async () => {
  const web = await server(answers)
  const { port, routes } = await start()
  await routes([web.endpoint])
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  socket.end("GET / HTTP/1.1\r\nhost: web.app\r\n\r\n")
  let read = ""
  socket.on("data", chunk => (read += chunk))
  await once(socket, "end")
  expect(read).toMatch(/^HTTP\/1\.1 200 /)
  socket.destroy()
})
