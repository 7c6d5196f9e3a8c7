// SPDX-License-Identifier: Apache-2.0
// Client connections and server pools together, both versions on both sides, without policies. Node's clients and
// servers are at the ends.

import { once } from "node:events"
import { Agent, createServer as createHttp1, type IncomingMessage, request, type ServerResponse } from "node:http"
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createServer as createHttp2,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { Http1Downstream } from "../http1/downstream-connection.js"
import { Http1Pool } from "../http1/pool.js"
import { Http2Downstream } from "../http2/downstream-connection.js"
import { Http2Pool } from "../http2/pool.js"
import { ByteBudget } from "../limits/byte-budget.js"
import { TokenBucket } from "../limits/token-bucket.js"
import { Deadlines } from "./deadlines.js"
import type { DownstreamConnection, DownstreamLimits, DownstreamUser } from "./downstream.js"
import { LIMITS, until } from "./testing/calls.js"
import { Relay } from "./testing/relay.js"

type Version = "http/1.1" | "h2"
/** The compatibility API of node:http2 has the same methods, so this fits both versions. */
type Serve = (request: IncomingMessage, response: ServerResponse) => unknown

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function listen(server: Server): Promise<number> {
  const sockets: Socket[] = []
  server.on("connection", (socket: Socket) => {
    sockets.push(socket)
    socket.on("error", () => undefined)
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise(done => server.close(done))
  })
  return (server.address() as AddressInfo).port // TCP servers have this form
}

class RelayingProxy {
  readonly connections: DownstreamConnection<Relay>[] = []
  readonly limitsHit: string[] = []
  draining = false
  closed = 0
  port = 0
  /** Statuses of bytes that could not be parsed as a request. */
  readonly unreadable: number[] = []
}

/** Starts a relaying proxy, and returns it with a function that sends requests through it. */
async function start(
  client: Version,
  server: Version,
  serve: Serve,
  changed: Partial<DownstreamLimits> = {},
): Promise<RelayingProxy> {
  const compatible = serve as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void // see `Serve`
  const port = await listen(server === "h2" ? createHttp2(compatible) : createHttp1(serve))
  const limits = { ...LIMITS, pipelinedRequests: 16, streams: 100, ...changed }
  const deadlines = new Deadlines(limits)
  const behind = { connect: (options: object) => connect({ ...options, host: "127.0.0.1", port }), limits, deadlines }
  const pool = server === "h2" ? new Http2Pool(behind) : new Http1Pool(behind)
  cleanups.push(() => pool.destroy())
  const proxy = new RelayingProxy()
  const options = { limits, deadlines, unread: new ByteBudget(1_000_000) }
  const front = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    const user: DownstreamUser<Relay> = {
      exchange: (head, responder) => new Relay(pool, responder, head),
      unreadable: (_version, status, body) => {
        proxy.unreadable.push(status)
        return { status, body, fields: [] }
      },
      get draining() {
        return proxy.draining
      },
      limitHit: limit => proxy.limitsHit.push(limit),
      evicted: () => undefined,
      closed: () => proxy.closed++,
    }
    const connection =
      client === "h2"
        ? new Http2Downstream(socket, options, user, new TokenBucket(100, 10, performance.now()))
        : new Http1Downstream(socket, options, user)
    proxy.connections.push(connection)
    connection.start(Buffer.alloc(0))
  })
  proxy.port = await listen(front)
  return proxy
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly sum: unknown
}

/** A client that reuses its connection, for one version. */
function clientOf(version: Version, port: number): (path: string, content?: string) => Promise<Answer> {
  if (version === "http/1.1") {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    cleanups.push(() => agent.destroy())
    return async (path, content) => {
      const sent = request({ agent, port, host: "127.0.0.1", path, method: content === undefined ? "GET" : "POST" })
      sent.end(content)
      const [answer]: [IncomingMessage] = await once(sent, "response").then(([first]) => [first])
      let body = ""
      for await (const chunk of answer) body += String(chunk)
      return { status: answer.statusCode ?? 0, body, sum: answer.trailers["x-sum"] }
    }
  }
  const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${port}`)
  session.on("error", () => undefined)
  cleanups.push(() => session.destroy())
  return async (path, content) => {
    const stream = session.request({ ":path": path, ":method": content === undefined ? "GET" : "POST" })
    let sum: unknown
    stream.on("trailers", trailers => {
      sum = trailers["x-sum"]
    })
    stream.end(content)
    const [headers]: [Record<string, unknown>] = await once(stream, "response").then(([first]) => [first])
    let body = ""
    for await (const chunk of stream) body += String(chunk)
    return { status: Number(headers[":status"]), body, sum }
  }
}

const echo: Serve = (incoming, response) => {
  let content = ""
  incoming.on("data", chunk => {
    content += String(chunk)
  })
  incoming.on("end", () => {
    response.setHeader("trailer", "x-sum")
    response.write(`${incoming.method} ${incoming.url} ${content}`)
    response.addTrailers({ "x-sum": String(content.length) })
    response.end()
  })
}

describe.each([
  ["http/1.1", "http/1.1"],
  ["http/1.1", "h2"],
  ["h2", "http/1.1"],
  ["h2", "h2"],
] as const)("a client of %s and a server of %s", (client, server) => {
  it("carries requests, content and trailers on one connection", async () => {
    const proxy = await start(client, server, echo)
    const ask = clientOf(client, proxy.port)
    expect(await ask("/a")).toEqual({ status: 200, body: "GET /a ", sum: "0" })
    const large = "x".repeat(500_000)
    expect(await ask("/b?c", large)).toEqual({ status: 200, body: `POST /b?c ${large}`, sum: "500000" })
    expect(proxy.connections).toHaveLength(1)
    expect(proxy.connections[0]?.exchanges()).toEqual([])
  })

  it("writes a local reply and keeps the connection", async () => {
    const proxy = await start(client, server, echo)
    const ask = clientOf(client, proxy.port)
    expect(await ask("/denied", "ignored")).toMatchObject({ status: 403, body: "denied" })
    expect(await ask("/a")).toMatchObject({ status: 200 })
    expect(proxy.connections).toHaveLength(1)
  })

  it("drains: answers the exchange in flight, then closes the connection", async () => {
    const held: ServerResponse[] = []
    const proxy = await start(client, server, (_, response) => held.push(response))
    const answer = clientOf(client, proxy.port)("/a")
    await until(() => held.length === 1)
    expect(proxy.connections[0]?.exchanges()).toHaveLength(1)
    proxy.connections[0]?.drain("now")
    held[0]?.end("last")
    expect(await answer).toMatchObject({ status: 200, body: "last" })
    await until(() => proxy.closed === 1)
  })

  it("closes an idle connection at once when it drains", async () => {
    const proxy = await start(client, server, echo)
    await clientOf(client, proxy.port)("/a")
    proxy.connections[0]?.drain("now")
    await until(() => proxy.closed === 1)
  })
})

it("lets the exchange answer a client that does not send", async () => {
  const proxy = await start("http/1.1", "h2", () => undefined, { bodyIdleTimeoutMs: 100 })
  const socket = connect(proxy.port, "127.0.0.1").on("error", () => undefined)
  let received = ""
  socket.on("data", chunk => {
    received += String(chunk)
  })
  socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n12")
  await until(() => received.endsWith("client"))
  expect(received).toMatch(/^HTTP\/1.1 408 /)
  expect(proxy.limitsHit).toEqual(["bodyIdleTimeoutMs"])
})

it("asks its user for the reply to an unparsable request", async () => {
  const proxy = await start("http/1.1", "http/1.1", echo)
  const socket = connect(proxy.port, "127.0.0.1").on("error", () => undefined)
  let received = ""
  socket.on("data", chunk => {
    received += String(chunk)
  })
  socket.write("nonsense\r\n\r\n")
  await until(() => received.includes("malformed request line"))
  await until(() => proxy.closed === 1)
  expect(proxy.unreadable).toEqual([400])
})

it("closes the connection if the exchange says so", async () => {
  const proxy = await start("http/1.1", "http/1.1", echo)
  await expect(clientOf("http/1.1", proxy.port)("/closed")).rejects.toThrow(/hang up|ECONNRESET/)
  await until(() => proxy.closed === 1)
})
