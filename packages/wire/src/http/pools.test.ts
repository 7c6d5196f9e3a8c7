// SPDX-License-Identifier: Apache-2.0
// Behaviour that the pools of both versions share, over TCP and mTLS, tested with Node's own servers.

import { once } from "node:events"
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http"
import {
  constants,
  createServer as createHttp2,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
} from "node:http2"
import { createServer as createHttps } from "node:https"
import { type AddressInfo, connect as connectPlain, createServer, type Server, type Socket } from "node:net"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { afterEach, beforeAll, describe, expect, it, test } from "vitest"
import { Http1Pool } from "../http1/pool.js"
import { goawayText, settingsText } from "../http2/frame-writer.js"
import { Http2Pool } from "../http2/pool.js"
import { type Credentials, TestAuthority } from "../tls/testing/certificates.js"
import { Deadlines } from "./deadlines.js"
import { LIMITS, Outcome, outgoing, send, until } from "./testing/calls.js"
import { type Connect, neverProcessed, type Upstream, type UpstreamLimits } from "./upstream.js"

const SERVER_ID = "spiffe://test/server"
const CLIENT_ID = "spiffe://test/client"

let authority: TestAuthority
let serverCredentials: Credentials
let clientCredentials: Credentials
beforeAll(async () => {
  authority = await TestAuthority.create()
  serverCredentials = await authority.issue(SERVER_ID)
  clientCredentials = await authority.issue(CLIENT_ID)
})

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Version = "http/1.1" | "h2"

interface Endpoint {
  readonly pool: Upstream
  readonly port: number
  readonly accepted: Socket[]
  readonly connectErrors: (Error | undefined)[]
  readonly limitsHit: string[]
}

interface Setting {
  readonly version: Version
  readonly secure: boolean
}

/** The compatibility API of node:http2 has the same methods, so this fits both versions. */
type Serve = (request: IncomingMessage, response: ServerResponse) => unknown

function serverOf({ version, secure }: Setting, serve: Serve): Server {
  const compatible = serve as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void // see `Serve`
  const tls = { ...serverCredentials, ca: authority.ca, requestCert: true }
  if (version === "h2") return secure ? createSecureServer(tls, compatible) : createHttp2(compatible)
  return secure ? createHttps({ ...tls, ALPNProtocols: ["http/1.1"] }, serve) : createHttp1(serve)
}

/** Connects as the outbound proxy does: the peer must have the identity and speak the version. */
function connectorOf({ version, secure }: Setting, port: () => number, identity = SERVER_ID): Connect {
  if (!secure) return options => connectPlain({ ...options, host: "127.0.0.1", port: port() })
  return options => {
    const socket = connectTls({
      ...options,
      ...clientCredentials,
      ca: authority.ca,
      host: "127.0.0.1",
      port: port(),
      ALPNProtocols: [version],
      checkServerIdentity: (_host, { subjectaltname }) =>
        subjectaltname === `URI:${identity}` ? undefined : new Error(`not ${identity}`),
    })
    socket.once("secureConnect", () => {
      if (socket.alpnProtocol !== version) socket.destroy(new Error(`no ${version}`))
    })
    return socket
  }
}

/** Returns the port. The server and its connections are closed after the test. */
async function listen(server: Server): Promise<number> {
  const sockets: Socket[] = []
  server.on("connection", (socket: Socket) => {
    sockets.push(socket)
    socket.on("error", () => undefined)
  })
  server.on("secureConnection", (socket: Socket) => socket.on("error", () => undefined))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise(done => server.close(done))
  })
  return (server.address() as AddressInfo).port // TCP servers have this form
}

async function start(
  setting: Setting,
  serve: Serve,
  limits: Partial<UpstreamLimits> = {},
  identity = SERVER_ID,
): Promise<Endpoint & { readonly server: Server }> {
  const server = serverOf(setting, serve)
  const accepted: Socket[] = []
  server.on(setting.secure ? "secureConnection" : "connection", (socket: Socket) => accepted.push(socket))
  const port = await listen(server)
  return { ...open(setting, port, limits, identity), server, accepted }
}

function open(setting: Setting, port: number, limits: Partial<UpstreamLimits> = {}, identity = SERVER_ID): Endpoint {
  const all = { ...LIMITS, ...limits }
  const connectErrors: (Error | undefined)[] = []
  const limitsHit: string[] = []
  const options = {
    connect: connectorOf(setting, () => port, identity),
    limits: all,
    deadlines: new Deadlines(all),
    observer: {
      connectFailed: (error: Error | undefined) => connectErrors.push(error),
      limitHit: (limit: string) => limitsHit.push(limit),
    },
  }
  const pool = setting.version === "h2" ? new Http2Pool(options) : new Http1Pool(options)
  cleanups.push(() => pool.destroy())
  return { pool, port, connectErrors, limitsHit, accepted: [] }
}

const SETTINGS: readonly Setting[] = [
  { version: "http/1.1", secure: false },
  { version: "http/1.1", secure: true },
  { version: "h2", secure: false },
  { version: "h2", secure: true },
]

const echo: Serve = (request, response) => {
  let content = ""
  request.on("data", chunk => {
    content += String(chunk)
  })
  request.on("end", () => {
    const { headers, trailers } = request
    const seen = [headers["x-kept"], headers["x-added"], headers["content-length"], content, trailers["x-t"]]
    response.setHeader("trailer", "x-sum")
    response.write(seen.join(" "))
    response.addTrailers({ "x-sum": String(content.length) })
    response.end()
  })
}

describe.each(SETTINGS)("$version, TLS: $secure", setting => {
  it("carries a request with content and trailers both ways", async () => {
    const { pool } = await start(setting, echo)
    const outcome = new Outcome(pool, outgoing({ method: "POST", chunked: true }))
    const bytes = Buffer.from("..hello..")
    outcome.call.content(bytes, 2, 7)
    bytes.fill(0)
    outcome.call.finishRequest([["x-t", "t"]])
    outcome.call.flush()
    expect(await outcome.ended).toBe("1 2  hello t")
    expect(outcome).toMatchObject({ status: 200, trailers: "5" })
  })

  it("reuses its connections", async () => {
    const { pool, accepted } = await start(setting, (_, response) => response.end("ok"))
    for (let round = 0; round < 5; round++) expect(await send(pool).ended).toBe("ok")
    expect(accepted.length).toBe(1)
    expect(pool.connections).toBe(1)
  })

  it("reports informational responses", async () => {
    const { pool } = await start(setting, (_, response) => {
      response.writeEarlyHints({ link: "</a>" })
      response.end("ok")
    })
    const outcome = send(pool)
    expect(await outcome.ended).toBe("ok")
    expect(outcome.informational).toEqual([103])
  })

  it("stops a response while its reader is paused", async () => {
    const block = "x".repeat(8_000_000)
    const { pool, accepted } = await start(setting, (_, response) => response.end(block))
    const outcome = send(pool)
    await until(() => outcome.status === 200)
    outcome.call.pause()
    await until(() => (accepted[0]?.writableLength ?? 0) > 0 || setting.version === "h2")
    // Bytes in flight still arrive; then nothing more does.
    let before = -1
    while (before !== outcome.content.length) {
      before = outcome.content.length
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    expect(before).toBeLessThan(block.length)
    outcome.call.resume()
    expect((await outcome.ended).length).toBe(block.length)
  })

  it("makes a sender wait for a server that does not read", async () => {
    const { pool } = await start(setting, request => request.pause())
    const outcome = new Outcome(pool, outgoing({ method: "POST", chunked: true }))
    const block = Buffer.alloc(64 * 1024)
    for (let sent = 0; sent < 40_000_000 && !outcome.call.full; sent += block.length) {
      outcome.call.content(block, 0, block.length)
      outcome.call.flush()
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(outcome.call.full).toBe(true)
    outcome.call.abort()
  })

  it("drains: requests in flight end, idle connections close, and close() resolves", async () => {
    const held: ServerResponse[] = []
    const { pool } = await start(setting, (_, response) => held.push(response))
    const outcome = send(pool)
    await until(() => held.length === 1)
    let closed = false
    const closing = pool.close().then(() => {
      closed = true
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(closed).toBe(false)
    held[0]?.end("ok")
    expect(await outcome.ended).toBe("ok")
    await closing
    expect(pool.connections).toBe(0)
  })

  it("ends everything at once on destroy()", async () => {
    const { pool } = await start(setting, () => undefined)
    const outcome = send(pool)
    await until(() => pool.connections === 1)
    const early = send(open(setting, 9).pool)
    await new Promise(resolve => setTimeout(resolve, 20))
    pool.destroy()
    expect(["failure: reset", "failure: connect"]).toContain(await outcome.ended)
    expect(await early.ended).toBe("failure: connect")
    await pool.close()
    expect(pool.connections).toBe(0)
  })

  it("distinguishes a failed connection attempt from a broken connection", async () => {
    const { pool, server, accepted, port } = await start(setting, request => request.socket.destroy())
    const broken = send(pool, { method: "POST" })
    expect(await broken.ended).toBe("failure: reset")
    expect(neverProcessed("reset")).toBe(false)
    for (const socket of accepted) socket.destroy()
    await new Promise(done => server.close(done))
    // The server is closed, so the port is free.
    const away = open(setting, port)
    const outcome = send(away.pool, { method: "POST" })
    expect(await outcome.ended).toBe("failure: connect")
    expect(neverProcessed("connect")).toBe(true)
    await until(() => away.connectErrors.length === 1)
    expect(away.connectErrors[0]).toMatchObject({ code: "ECONNREFUSED" })
  })

  it("limits the time to connect, including the TLS handshake", async () => {
    // A listener that accepts and sends nothing is enough for TCP, but not for TLS.
    const port = await listen(createServer())
    const { pool, limitsHit, connectErrors } = open({ ...setting, secure: true }, port, { connectTimeoutMs: 40 })
    expect(await send(pool).ended).toBe("failure: connect-timeout")
    expect(limitsHit).toEqual(["connectTimeoutMs"])
    await until(() => connectErrors.length === 1)
    expect(connectErrors).toEqual([undefined])
  })

  it("limits the time to the response head", async () => {
    const { pool, limitsHit } = await start(setting, () => undefined, { responseTimeoutMs: 40 })
    expect(await send(pool).ended).toBe("failure: response-timeout")
    expect(limitsHit).toEqual(["responseTimeoutMs"])
  })

  it("limits one caller's concurrent requests", async () => {
    const limits = { upstreamConnections: 2, upstreamStreams: 2, pendingRequests: 1, callerSharePercent: 100 }
    const { pool, limitsHit } = await start(setting, () => undefined, limits)
    const sent = [send(pool), send(pool), send(pool), send(pool)]
    expect(await Promise.race(sent.map(({ ended }) => ended))).toBe("failure: pending-full")
    expect(neverProcessed("pending-full")).toBe(true)
    expect(limitsHit.length).toBeGreaterThan(0)
  })
})

describe.each(["http/1.1", "h2"] as const)("mTLS with %s", version => {
  const secure = { version, secure: true }

  it("shows the client's certificate", async () => {
    const { pool, accepted } = await start(secure, (_, response) => response.end("ok"))
    expect(await send(pool).ended).toBe("ok")
    const [socket] = accepted as TLSSocket[] // the server emits TLS sockets
    expect(socket?.getPeerCertificate().subjectaltname).toBe(`URI:${CLIENT_ID}`)
    expect(socket?.alpnProtocol).toBe(version)
  })

  it("sends nothing to a server with another identity", async () => {
    let requests = 0
    const { pool, server, connectErrors } = await start(secure, () => requests++, {}, "spiffe://test/other")
    let received = 0
    server.on("secureConnection", (socket: TLSSocket) => socket.on("data", ({ length }) => (received += length)))
    const outcome = new Outcome(pool, outgoing({ method: "POST", chunked: true }))
    outcome.call.content(Buffer.alloc(100_000, "secret"), 0, 100_000)
    outcome.call.finishRequest([])
    outcome.call.flush()
    expect(await outcome.ended).toBe("failure: connect")
    await until(() => connectErrors.length === 1)
    expect(connectErrors[0]?.message).toBe("not spiffe://test/other")
    await new Promise(resolve => setTimeout(resolve, 50))
    expect({ requests, received }).toEqual({ requests: 0, received: 0 })
  })

  it("sends nothing to a server that speaks another version", async () => {
    let requests = 0
    const other = version === "h2" ? "http/1.1" : "h2"
    const { port } = await start({ version: other, secure: true }, () => requests++)
    const { pool } = open(secure, port)
    expect(await send(pool).ended).toBe("failure: connect")
    expect(requests).toBe(0)
  })
})

describe("an HTTP/2 server that rejects", () => {
  const h2 = { version: "h2", secure: false } as const

  it("has not processed the request, so a request without content is retried once", async () => {
    const { pool, server } = await start(h2, () => undefined)
    let streams = 0
    server.removeAllListeners("stream")
    server.on("stream", (stream: ServerHttp2Stream) => {
      streams++
      stream.on("error", () => undefined)
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
    })
    expect(await send(pool).ended).toBe("failure: refused")
    expect(streams).toBe(2)
    const posted = new Outcome(pool, outgoing({ method: "POST", length: 1 }))
    posted.call.flush()
    expect(await posted.ended).toBe("failure: refused")
    expect(streams).toBe(3)
    expect(neverProcessed("refused")).toBe(true)
  })

  it("reports every stream above the last one of its GOAWAY as not processed", async () => {
    let connections = 0
    const server = createServer(socket => {
      connections++
      socket.once("data", () => socket.write(settingsText([]) + goawayText(0, 0, ""), "latin1"))
    })
    const { pool } = open(h2, await listen(server))
    const outcomes = [send(pool, { method: "POST", length: 1 }), send(pool, { method: "POST", length: 1 })]
    for (const { ended } of outcomes) expect(await ended).toBe("failure: refused")
    expect(connections).toBe(1)
    await until(() => pool.connections === 0)
  })

  test("treats a stream that is reset with another code as possibly processed", async () => {
    const { pool, server } = await start(h2, () => undefined)
    server.removeAllListeners("stream")
    server.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined)
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    })
    expect(await send(pool).ended).toBe("failure: reset")
  })
})

describe("a tunnel", () => {
  it("switches an HTTP/1.1 connection and half-closes each direction separately", async () => {
    const { pool, server } = await start({ version: "http/1.1", secure: true }, () => undefined)
    server.on("upgrade", (_request: IncomingMessage, socket: Socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n")
      socket.on("data", chunk => socket.write(`<${String(chunk)}>`))
      socket.on("end", () => socket.end("bye"))
    })
    const outcome = new Outcome(pool, outgoing({ upgrade: "echo" }))
    outcome.call.finishRequest([])
    outcome.call.flush()
    await until(() => outcome.status === 101)
    outcome.call.content(Buffer.from("hi"), 0, 2)
    outcome.call.flush()
    await until(() => outcome.content === "<hi>")
    outcome.call.finishRequest([])
    expect(await outcome.ended).toBe("<hi>bye")
  })

  it("is an extended CONNECT over HTTP/2", async () => {
    const server = createSecureServer({
      ...serverCredentials,
      ca: authority.ca,
      requestCert: true,
      settings: { enableConnectProtocol: true },
    })
    let protocol: unknown
    server.on("stream", (stream, headers) => {
      protocol = headers[":protocol"]
      stream.respond({ ":status": 200 })
      stream.on("data", chunk => stream.write(`<${String(chunk)}>`))
      stream.on("end", () => stream.end("bye"))
    })
    const { pool } = open({ version: "h2", secure: true }, await listen(server))
    const outcome = new Outcome(pool, outgoing({ upgrade: "echo" }))
    outcome.call.finishRequest([])
    outcome.call.flush()
    await until(() => outcome.status === 101)
    outcome.call.content(Buffer.from("hi"), 0, 2)
    outcome.call.flush()
    await until(() => outcome.content === "<hi>")
    outcome.call.finishRequest([])
    expect(await outcome.ended).toBe("<hi>bye")
    expect(protocol).toBe("echo")
  })
})
