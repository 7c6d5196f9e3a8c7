// SPDX-License-Identifier: Apache-2.0
// Requests of ordinary programs, HTTP/1.1 and HTTP/2 of Node, through captured connections to servers that speak HTTP/2
// inside mutual TLS, as the proxies of servers do.

import { once } from "node:events"
import { Agent, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, request } from "node:http"
import {
  connect as connectHttp2,
  createServer as createHttp2,
  type IncomingHttpHeaders as Http2Headers,
  type ServerHttp2Stream,
} from "node:http2"
import { type AddressInfo, connect, createServer, type Server } from "node:net"
import { createServer as createTls, type TLSSocket } from "node:tls"
import type { ConnectionPoolSpec, RouteTraffic, ServiceEndpoint } from "@merlon/xds"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Outbound } from "../call/outbound.js"
import { CapturedProxy } from "../captured/captured-proxy.js"
import type { CallObserver, CallRecord, CallTrace } from "../observe/call-record.js"
import { CONSUMER_ID, TestMesh, WEB_ID } from "../testing/mesh.js"
import { TestRoutes } from "../testing/test-routes.js"
import { RequestCalls } from "./request-calls.js"

const NAME = "127.96.0.7:80"
const TRACE: CallTrace = {
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  headers: [
    ["traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01"],
    ["tracestate", undefined],
  ],
  done: record => traced.push(record),
}
const traced: CallRecord[] = []
type Serve = (stream: ServerHttp2Stream, headers: Http2Headers) => void

let mesh: TestMesh
let filled: TestRoutes
let records: CallRecord[]
const closing: (() => unknown)[] = []

beforeEach(() => {
  mesh = new TestMesh()
  filled = new TestRoutes()
  records = []
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await mesh.close()
})

async function listening(server: Server, host = "127.0.0.1"): Promise<{ address: string; port: number }> {
  await once(server.listen(0, host), "listening")
  closing.push(() => server.close())
  const { address, port } = server.address() as AddressInfo
  return { address, port }
}

/** Responds with its name and the request line. */
const notifying =
  (name: string): Serve =>
  (stream, headers) => {
    stream.respond({ ":status": 200, "x-server": name })
    stream.end(`${name} ${headers[":method"]} ${headers[":path"]}`)
  }

interface Web {
  readonly endpoint: ServiceEndpoint
  readonly seen: Http2Headers[]
  readonly callers: Set<string>
  readonly connections: TLSSocket[]
}

async function web(serve: Serve, identity = WEB_ID, address = "127.0.0.1"): Promise<Web> {
  const { certificateChain: cert, privateKey: key } = mesh.credentials(identity)
  const seen: Http2Headers[] = []
  const callers = new Set<string>()
  const connections: TLSSocket[] = []
  const http2 = createHttp2({ settings: { enableConnectProtocol: true } })
  http2.on("stream", (stream, headers) => {
    seen.push(headers)
    stream.on("error", () => undefined)
    serve(stream, headers)
  })
  const tls = { cert, key, ca: mesh.authority.bundle, requestCert: true, rejectUnauthorized: true }
  const server = createTls({ ...tls, ALPNProtocols: ["merlon-h2"] }, socket => {
    callers.add(String(socket.getPeerCertificate().subjectaltname))
    connections.push(socket)
    socket.on("error", () => undefined)
    http2.emit("connection", socket)
  })
  closing.push(() => {
    for (const socket of connections) socket.destroy()
  })
  const where = await listening(server, address)
  return { endpoint: { ...where, healthy: true, workload: "app/web", mtlsMode: "STRICT" }, seen, callers, connections }
}

/** An endpoint where no server listens. */
async function gone(): Promise<ServiceEndpoint> {
  const server = createServer()
  const where = await listening(server)
  server.close()
  return { ...where, healthy: true, workload: "app/gone", mtlsMode: "STRICT" }
}

const toEndpoints = (...endpoints: ServiceEndpoint[]) => filled.set(NAME, mesh.routes([{ subset: "", endpoints }]))

async function start(): Promise<number> {
  const credentials = mesh.credentials()
  const material = () => ({ id: 1, credentials, trust: mesh.trust })
  const { health, knownRoutes } = filled
  const observer: CallObserver = {
    trace: headers => (headers.get("traceparent") === undefined ? undefined : TRACE),
    done: record => records.push(record),
    ejected: () => undefined,
  }
  const requests = new RequestCalls({ mesh: "merlon", health, material, connectTimeoutMs: 60_000, observer })
  const outbound = new Outbound({ health, material, tunnelAlpn: ["merlon"], connectTimeoutMs: 60_000 })
  const log = { info() {}, warn() {}, error() {} }
  const destinationOf = () => ({ address: "127.96.0.7", port: 80 })
  const isControlPlaneAway = () => false
  // All programs here speak first, however late on a busy machine.
  const limits = { silenceMs: 60_000 }
  const proxy = new CapturedProxy({
    knownRoutes,
    outbound,
    requests,
    destinationOf,
    isControlPlaneAway,
    log,
    observer,
    limits,
  })
  closing.push(() => {
    requests.close()
    return proxy.close(0)
  })
  return (await proxy.listen(0)).port
}

interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
  readonly body: string
}

interface Asking {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  readonly agent?: Agent
}

async function get(
  port: number,
  path: string,
  { method = "GET", headers = {}, body, agent }: Asking = {},
): Promise<Got> {
  const asked = request({ host: "127.0.0.1", port, path, method, headers: { host: "web.app", ...headers }, agent })
  asked.end(body)
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  let text = ""
  for await (const chunk of answer) text += chunk
  return { status: answer.statusCode ?? 0, headers: answer.headers, trailers: answer.trailers, body: text }
}

describe("a request", () => {
  it("uses HTTP/2 inside mutual TLS with the identity of the workload", async () => {
    const server = await web(notifying("v1"))
    await toEndpoints(server.endpoint)
    expect(await get(await start(), "/hello?a=b")).toMatchObject({ status: 200, body: "v1 GET /hello?a=b" })
    expect(server.seen[0]).toMatchObject({ ":authority": "web.app", ":path": "/hello?a=b" })
    expect([...server.callers]).toEqual([`URI:${CONSUMER_ID}`])
  })

  it("is answered without content by a server that ends the stream with its headers", async () => {
    const server = await web(stream => stream.respond({ ":status": 403 }, { endStream: true }))
    await toEndpoints(server.endpoint)
    const port = await start()
    const agent = new Agent({ keepAlive: true })
    closing.push(() => agent.destroy())
    const answer = await get(port, "/", { agent })
    expect(answer).toMatchObject({ status: 403, body: "", headers: { "content-length": "0" } })
    expect((await get(port, "/", { method: "HEAD", agent })).headers).not.toHaveProperty("content-length")
  })

  it("of an HTTP/2 client uses it too", async () => {
    const server = await web(notifying("v1"))
    await toEndpoints(server.endpoint)
    const session = connectHttp2(`http://127.0.0.1:${await start()}`)
    closing.push(() => session.destroy())
    const bodies = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const stream = session.request({ ":path": `/${index}`, ":authority": "web.app" })
        let body = ""
        for await (const chunk of stream) body += chunk
        return body
      }),
    )
    expect(bodies).toEqual(Array.from({ length: 20 }, (_, index) => `v1 GET /${index}`))
    expect(server.connections).toHaveLength(1)
  })

  it.each([
    ["IPv6 where IPv4 is refused", "127.0.0.9", "::1"],
    ["IPv4 where IPv6 is refused", "::1", "127.0.0.1"],
  ])("reaches an endpoint by %s", async (_, rejected, address) => {
    const server = await web(notifying("v1"), WEB_ID, address)
    await toEndpoints({ ...server.endpoint, address: rejected, otherAddresses: [address] })
    expect(await get(await start(), "/")).toMatchObject({ status: 200, body: "v1 GET /" })
  })

  it("keeps its headers, except hop-by-hop ones", async () => {
    const server = await web(notifying("v1"))
    await toEndpoints(server.endpoint)
    const kept = { "x-forwarded-for": "192.0.2.1", cookie: "a=b; c=d", "x-request-id": "7", authorization: "Bearer t" }
    const hop = { connection: "keep-alive, x-hop", "x-hop": "1", "keep-alive": "timeout=5", te: "trailers" }
    await get(await start(), "/", { headers: { ...kept, ...hop } })
    const [seen = {}] = server.seen
    expect(seen).toMatchObject(kept)
    for (const name of ["connection", "x-hop", "keep-alive"]) expect(seen[name]).toBeUndefined()
  })

  it("takes its own route on a kept connection", async () => {
    const [v1, v2] = [await web(notifying("v1")), await web(notifying("v2"))]
    const split = [
      { subset: "v1", endpoints: [v1.endpoint], weight: 3 },
      { subset: "v2", endpoints: [v2.endpoint], weight: 1 },
    ]
    await filled.set(NAME, mesh.routes(split))
    const port = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    closing.push(() => agent.destroy())
    for (let n = 0; n < 8; n++) expect((await get(port, "/", { agent })).status).toBe(200)
    expect([v1.seen.length, v2.seen.length]).toEqual([6, 2])
    expect([v1.connections.length, v2.connections.length]).toEqual([1, 1])
  })

  it("is routed by its path and headers", async () => {
    const [stable, canary] = [await web(notifying("stable")), await web(notifying("canary"))]
    const destinations = [
      { subset: "stable", endpoints: [stable.endpoint] },
      { subset: "canary", endpoints: [canary.endpoint] },
    ]
    const clusterOf = (subset: string) => [{ cluster: `outbound|80|${subset}|web.app.svc.cluster.local`, weight: 1 }]
    const routes = [
      { match: [{ headers: { "x-canary": { exact: "yes" } } }], destinations: clusterOf("canary") },
      { match: [{ uri: { prefix: "/" } }], destinations: clusterOf("stable") },
    ]
    await filled.set(NAME, mesh.routes(destinations, { routes }))
    const port = await start()
    expect((await get(port, "/", { headers: { "x-canary": "yes" } })).body).toBe("canary GET /")
    expect((await get(port, "/")).body).toBe("stable GET /")
  })

  it("carries large content in both directions, and trailers", async () => {
    const server = await web(stream => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true })
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-last": "words" }))
      stream.pipe(stream)
    })
    await toEndpoints(server.endpoint)
    const body = Buffer.alloc(5_000_000, "abcdefgh")
    const got = await get(await start(), "/", { method: "POST", body, headers: { te: "trailers" } })
    expect(got.body.length).toBe(body.length)
    expect(got.trailers).toEqual({ "x-last": "words" })
  })

  it("for a WebSocket becomes a tunnel", async () => {
    const server = await web((stream, headers) => {
      expect(headers).toMatchObject({ ":method": "CONNECT", ":protocol": "websocket" })
      stream.respond({ ":status": 200 })
      stream.pipe(stream)
    })
    await toEndpoints(server.endpoint)
    const socket = connect(await start(), "127.0.0.1")
    closing.push(() => socket.destroy())
    const handshake = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    socket.write(`GET /chat HTTP/1.1\r\nHost: web.app\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${handshake}\r\n`)
    let read = ""
    socket.on("data", chunk => (read += chunk))
    await expect.poll(() => read).toContain("\r\n\r\n")
    expect(read).toMatch(/^HTTP\/1\.1 101 /)
    socket.write("frames")
    await expect.poll(() => read).toContain("frames")
  })
})

describe("a request that no application has seen", () => {
  it.each([
    ["without content", {}],
    ["with content", { method: "POST", body: "x".repeat(10_000) }],
  ] as const)("is sent to the next endpoint, %s", async (_, pending) => {
    const server = await web(notifying("v1"))
    await toEndpoints(await gone(), server.endpoint)
    const port = await start()
    for (let n = 0; n < 4; n++) expect((await get(port, "/", pending)).status).toBe(200)
  })

  it("is sent again if the server rejects the stream", async () => {
    const rejecting = await web(stream => stream.close(7))
    const server = await web(notifying("v1"))
    await toEndpoints(rejecting.endpoint, server.endpoint)
    const port = await start()
    for (let n = 0; n < 4; n++) expect((await get(port, "/", { method: "POST", body: "x" })).status).toBe(200)
    expect(rejecting.seen.length).toBeGreaterThan(0)
  })
})

/** Sets the routes to these endpoints, with the options of a MeshService. */
const toEndpointsWith = (traffic: RouteTraffic, ...endpoints: ServiceEndpoint[]) => {
  const spec = mesh.routes([{ subset: "", endpoints }])
  const routes = spec.table.routes.map(route => ({ ...route, ...traffic }))
  return filled.set(NAME, { ...spec, table: { ...spec.table, routes } })
}
const RETRIES = { attempts: 2, retryOn: ["gateway-error", "reset"], nonIdempotent: false }

/** Answers the first `times` requests with a status, and later ones with its name. */
const failing = (times: number, status: number, fields: Record<string, string> = {}): Serve => {
  let left = times
  return (stream, headers) => {
    if (left-- <= 0) notifying("v1")(stream, headers)
    else {
      stream.respond({ ":status": status, ...fields })
      stream.end("not now")
    }
  }
}

describe("a request that failed", () => {
  it("is sent again as its MeshService specifies, also to the only endpoint", async () => {
    const server = await web(failing(2, 503))
    await toEndpointsWith({ retries: RETRIES }, server.endpoint)
    expect(await get(await start(), "/")).toMatchObject({ status: 200, body: "v1 GET /" })
    expect(server.seen.length).toBe(3)
  })

  it("gets the last response when its attempts are used up", async () => {
    const server = await web(failing(9, 503))
    await toEndpointsWith({ retries: RETRIES }, server.endpoint)
    expect(await get(await start(), "/")).toMatchObject({ status: 503, body: "not now" })
    expect(server.seen.length).toBe(3)
  })

  it("is sent once if an application may have acted on it", async () => {
    const [server, other] = [await web(failing(9, 503)), await web(notifying("other"))]
    await toEndpointsWith({ retries: RETRIES }, server.endpoint, other.endpoint)
    expect(await get(await start(), "/", { method: "POST", body: "once" })).toMatchObject({ status: 503 })
    expect([server.seen.length, other.seen.length]).toEqual([1, 0])
  })

  it("is sent again with its content if a MeshService allows that for every method", async () => {
    const server = await web((stream, headers) => {
      if (server.seen.length === 1) stream.close(2)
      else {
        stream.respond({ ":status": 200 })
        stream.pipe(stream)
      }
      expect(headers[":method"]).toBe("POST")
    })
    await toEndpointsWith({ retries: { ...RETRIES, nonIdempotent: true } }, server.endpoint)
    expect(await get(await start(), "/", { method: "POST", body: "twice" })).toMatchObject({
      status: 200,
      body: "twice",
    })
  })

  it("is sent elsewhere if the server's proxy reports that it reached no application", async () => {
    const down = await web(failing(9, 503, { "x-merlon-failure": "not-forwarded" }))
    const server = await web(notifying("v1"))
    await toEndpoints(down.endpoint, server.endpoint)
    expect(await get(await start(), "/", { method: "POST", body: "x" })).toMatchObject({ status: 200 })
    expect(down.seen.length).toBe(1)
  })

  it("is retried elsewhere if it is idempotent and the application closed the connection", async () => {
    const down = await web(failing(9, 503, { "x-merlon-failure": "reset" }))
    const server = await web(notifying("v1"))
    await toEndpoints(down.endpoint, server.endpoint)
    expect(await get(await start(), "/")).toMatchObject({ status: 200 })
    expect([down.seen.length, server.seen.length]).toEqual([1, 1])
    await toEndpoints(down.endpoint)
    expect(await get(await start(), "/", { method: "POST", body: "x" })).toMatchObject({ status: 503 })
    expect(down.seen.length).toBe(2)
  })

  it("is not sent elsewhere if a server without a proxy returns it", async () => {
    const answer: RequestListener = (_, response) => {
      response.writeHead(503, { "x-merlon-failure": "not-forwarded" })
      response.end()
    }
    const [down, other] = [
      await mesh.server("down", { plaintext: true, answer }),
      await mesh.server("other", { plaintext: true, answer }),
    ]
    await toEndpointsWith({ timeoutMs: 60_000 }, down.endpoint, other.endpoint)
    expect(await get(await start(), "/", { method: "POST", body: "x" })).toMatchObject({ status: 503 })
    expect([down.seen.length, other.seen.length]).toEqual([1, 0])
  })

  it("is not sent again if its content was too large to keep", async () => {
    const server = await web(stream => {
      stream.resume()
      stream.on("end", () => failing(1, 503)(stream, {}))
    })
    const other = await web(notifying("other"))
    await toEndpointsWith({ retries: { ...RETRIES, nonIdempotent: true } }, server.endpoint, other.endpoint)
    const body = "x".repeat(100_000)
    expect(await get(await start(), "/", { method: "POST", body })).toMatchObject({ status: 503 })
    expect([server.seen.length, other.seen.length]).toEqual([1, 0])
  })

  it("is not sent again if retries are off", async () => {
    const server = await web(notifying("v1"))
    await toEndpointsWith({ retries: { ...RETRIES, attempts: 0 } }, await gone(), server.endpoint)
    expect(await get(await start(), "/")).toMatchObject({ status: 503 })
  })
})

describe("a server that does not answer in time", () => {
  const silent: Serve = stream => void stream.resume()

  it("is given up with 504 and a reason", async () => {
    const server = await web(silent)
    await toEndpointsWith({ timeoutMs: 50 }, server.endpoint)
    const { status, headers, body } = await get(await start(), "/")
    expect({ status, failure: headers["x-merlon-failure"] }).toEqual({ status: 504, failure: "too-late" })
    expect(body).toContain("within 50 ms")
  })

  it("frees everything when the program disconnects first", async () => {
    const server = await web(silent)
    await toEndpointsWith({ timeoutMs: 3_600_000, retries: RETRIES }, server.endpoint)
    const session = connectHttp2(`http://127.0.0.1:${await start()}`)
    closing.push(() => session.destroy())
    const asked = session.request({ ":path": "/", ":authority": "web.app" })
    asked.on("error", () => undefined)
    await expect.poll(() => server.seen.length).toBe(1)
    const { load } = filled.health.stateOf(server.endpoint)
    expect(load.outstanding).toBe(1)
    asked.close(8)
    await expect.poll(() => load.outstanding).toBe(0)
    expect(server.seen.length).toBe(1)
  })
})

describe("a program gets a reason", () => {
  const failureOf = async (pending: Asking = {}) => {
    const { status, headers, body } = await get(await start(), "/secret?token=1", pending)
    return { status, code: headers["x-merlon-failure"], body }
  }

  it("that no endpoint accepts connections", async () => {
    await toEndpoints(await gone())
    expect(await failureOf()).toMatchObject({ status: 503, code: "unreachable", body: expect.stringContaining("web") })
  })

  it("that the server proved another identity, and nothing is sent to it", async () => {
    const impostor = await web(notifying("impostor"), "spiffe://cluster.local/ns/app/sa/other")
    await toEndpoints(impostor.endpoint)
    expect(await failureOf()).toMatchObject({ status: 503, code: "unreachable" })
    expect(impostor.seen).toEqual([])
  })

  it("that the destination has no endpoints", async () => {
    await toEndpoints()
    expect(await failureOf()).toMatchObject({ status: 503, code: "no-endpoint" })
  })

  it("that no route takes the request, without its query", async () => {
    const server = await web(notifying("v1"))
    const destinations = [{ cluster: "outbound|80||web.app.svc.cluster.local", weight: 1 }]
    const routes = [{ match: [{ uri: { prefix: "/public" } }], destinations }]
    await filled.set(NAME, mesh.routes([{ subset: "", endpoints: [server.endpoint] }], { routes }))
    const { status, code, body } = await failureOf()
    expect({ status, code }).toEqual({ status: 502, code: "no-route" })
    expect(body).toContain("GET /secret")
    expect(body).not.toContain("token")
  })

  it("that the server closed the connection, and the request is not sent again", async () => {
    const server = await web(stream => stream.session?.destroy())
    const other = await web(notifying("other"))
    await toEndpoints(server.endpoint, other.endpoint)
    expect(await failureOf({ method: "POST", body: "once" })).toMatchObject({ status: 502, code: "cut-off" })
    expect(other.seen).toEqual([])
  })
})

describe("a destination with limits", () => {
  const limited = (connectionPool: ConnectionPoolSpec, ...endpoints: ServiceEndpoint[]) =>
    filled.set(NAME, mesh.routes([{ subset: "", endpoints, cluster: { traffic: { connectionPool } } }]))

  it("answers one request too many with 503 and the limit, and serves the one that waited", async () => {
    const held: ServerHttp2Stream[] = []
    const server = await web(stream => void held.push(stream))
    await limited({ maxConnections: 1, maxPendingRequests: 1, maxRequestsPerConnection: 1 }, server.endpoint)
    const port = await start()
    const first = get(port, "/first")
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1)
    const others = [get(port, "/second"), get(port, "/third")]
    const full = await Promise.race(others)
    expect(full).toMatchObject({ status: 503, headers: { "x-merlon-failure": "overflow" } })
    expect(full.body).toContain("`maxConnections` and `http1MaxPendingRequests`")
    expect(records).toMatchObject([{ status: 503, failure: "overflow", retries: 0 }])
    held[0]?.respond({ ":status": 200 }, { endStream: true })
    expect((await first).status).toBe(200)
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(2)
    held[1]?.respond({ ":status": 200 }, { endStream: true })
    expect((await Promise.all(others)).filter(({ status }) => status === 200)).toHaveLength(1)
    expect(server.connections).toHaveLength(2)
  })
})

describe("the record of a call", () => {
  it("has the destination, the transport and the outcome, but no query", async () => {
    const server = await web(notifying("v1"))
    await toEndpoints(server.endpoint)
    await get(await start(), "/hello?token=secret", { method: "POST", body: "12345" })
    expect(records).toMatchObject([
      {
        ...{ protocol: "http/1.1", destination: "web.app.svc.cluster.local:80", inMesh: true, transport: "mtls" },
        ...{ workload: "app/web", method: "POST", host: "web.app", path: "/hello", status: 200, retries: 0 },
        ...{ bytesReceived: 5, bytesSent: "v1 POST /hello?token=secret".length, failure: undefined },
      },
    ])
    expect(records[0]?.durationMs).toBeGreaterThan(0)
  })

  it("has the request id that the server receives, the program's own or a new one", async () => {
    const server = await web(notifying("v1"))
    await toEndpoints(server.endpoint)
    const port = await start()
    await get(port, "/", { headers: { "x-request-id": "mine-7" } })
    await get(port, "/")
    expect(records.map(({ requestId }) => requestId)).toEqual(server.seen.map(seen => seen["x-request-id"]))
    expect(records[0]?.requestId).toBe("mine-7")
    expect(records[1]?.requestId).toMatch(/^[0-9a-f-]{36}$/)
  })

  it("has the id of the decision by which the server denied the request, with any status", async () => {
    const id = "0123456789abcdef0123"
    const server = await web((stream, { ":path": path }) => {
      stream.respond({ ":status": path === "/grpc" ? 200 : 403, "x-merlon-decision": id })
      stream.end()
    })
    await toEndpoints(server.endpoint)
    const port = await start()
    expect((await get(port, "/")).headers["x-merlon-decision"]).toBe(id)
    await get(port, "/grpc")
    expect(records).toMatchObject([
      { status: 403, decisionId: id, workload: "app/web", failure: undefined },
      { status: 200, decisionId: id },
    ])
  })

  it("contains only valid decision ids", async () => {
    const forged = ['{"verdict":"allow"}', "0123456789abcdef01234", "0123456789ABCDEF0123"]
    const server = await web((stream, { ":path": path = "/0" }) => {
      stream.respond({ ":status": 403, "x-merlon-decision": forged[Number(path.slice(1))] })
      stream.end()
    })
    await toEndpoints(server.endpoint)
    const port = await start()
    for (const index of forged.keys()) await get(port, `/${index}`)
    expect(records.map(({ decisionId }) => decisionId)).toEqual([undefined, undefined, undefined])
  })

  it("counts endpoints that could not be reached", async () => {
    const server = await web(notifying("v1"))
    await toEndpoints(await gone(), server.endpoint)
    const port = await start()
    await get(port, "/")
    await get(port, "/")
    expect(records.map(({ status }) => status)).toEqual([200, 200])
    expect(records.reduce((sum, { retries }) => sum + retries, 0)).toBe(1)
  })

  it("has the reason why there was no response", async () => {
    await toEndpoints(await gone())
    expect((await get(await start(), "/")).status).toBe(503)
    expect(records).toMatchObject([{ status: 503, transport: "mtls", failure: "unreachable" }])
    expect(records[0]?.reason).toContain("`web`")
  })

  it("is the parent of the server's span", async () => {
    traced.length = 0
    const server = await web(notifying("v1"))
    await toEndpoints(server.endpoint)
    const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    await get(await start(), "/", { headers: { traceparent: parent, tracestate: "vendor=1" } })
    expect(server.seen[0]?.traceparent).toBe(TRACE.headers?.[0]?.[1])
    expect(server.seen[0]).not.toHaveProperty("tracestate")
    expect(records).toMatchObject([{ traceId: TRACE.traceId }])
    expect(traced).toEqual(records)
  })
})
