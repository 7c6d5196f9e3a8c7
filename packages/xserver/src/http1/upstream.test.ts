// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { compile, meshConfig } from "@merlon/policy"
import { Deadlines } from "@merlon/wire"
import { afterEach, describe, expect, it, test } from "vitest"
import { RecordingMeters } from "../accept/testing/recording-meters.js"
import { ForwardedRequest } from "../http/forwarded-request.js"
import type { UpstreamListener } from "../http/upstream.js"
import { DEFAULT_LIMITS, type Limits } from "../limits.js"
import { parseRequestHead } from "./request-head.js"
import { eventually, WORKLOAD } from "./testing/rig.js"
import { Http1Upstream } from "./upstream.js"

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

let server: Server
let upstream: Http1Upstream
let meters: RecordingMeters
const accepted: Socket[] = []

/** `serve` gets each connection with its number. */
async function start(serve: (socket: Socket, number: number) => void, limits: Partial<Limits> = {}): Promise<void> {
  accepted.length = 0
  server = createServer({ allowHalfOpen: true }, socket => {
    socket.on("error", () => undefined)
    accepted.push(socket)
    serve(socket, accepted.length)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  meters = new RecordingMeters()
  const all = { ...DEFAULT_LIMITS, ...limits }
  const { port }: AddressInfo = Object.assign({ port: 0, address: "", family: "" }, server.address())
  upstream = new Http1Upstream({
    address: { host: "127.0.0.1", port },
    limits: all,
    meters,
    deadlines: new Deadlines(all),
  })
}

afterEach(async () => {
  upstream.close()
  for (const socket of accepted) socket.destroy()
  await new Promise(done => server.close(done))
})

interface Asked {
  readonly method?: string
  readonly hasBody?: boolean
}

/** Sends and tells how it ended: the content, or the failure. */
function send(request: Asked = {}): Promise<string> & { abort(): void } {
  let abort = (): void => undefined
  const outcome = new Promise<string>(resolve => {
    let content = ""
    const listener: UpstreamListener = {
      onInformational: () => undefined,
      onResponse: () => undefined,
      onContent: (bytes, from, to) => {
        content += bytes.toString("latin1", from, to)
      },
      onEnd: () => resolve(content),
      onFailure: failure => resolve(`failure: ${failure}`),
      onPause: () => undefined,
      onWritable: () => undefined,
    }
    const exchange = upstream.send(forwarded(request), listener)
    exchange.finishRequest([])
    exchange.flush()
    abort = () => exchange.abort()
  })
  return Object.assign(outcome, { abort: () => abort() })
}

function forwarded({ method = "GET", hasBody = false }: Asked): ForwardedRequest {
  const head = parseRequestHead(`${method} / HTTP/1.1\r\nhost: a\r\n${hasBody ? "content-length: 1\r\n" : ""}\r\n`, 10)
  if (typeof head === "string") throw new Error(head)
  const edits = { removeHeaders: [], setHeaders: [], cookie: undefined }
  const connection = { fields: [], address: "127.0.0.1", caller: "a" }
  const { protectedHeaders } = compile([], WORKLOAD, meshConfig())
  return new ForwardedRequest(head, { target: "/", edits }, "1", undefined, connection, protectedHeaders)
}

const answering = (socket: Socket): void => {
  socket.on("data", () => socket.write(OK))
}

it("reuses the connection that was used last", async () => {
  await start(answering)
  expect(await Promise.all([send(), send(), send()])).toEqual(["ok", "ok", "ok"])
  expect(accepted.length).toBe(3)
  for (let round = 0; round < 10; round++) expect(await send()).toBe("ok")
  expect(accepted.length).toBe(3)
  expect(upstream.idleConnections).toBe(3)
})

it("does not reuse a connection the application wants closed", async () => {
  await start(socket => socket.on("data", () => socket.write(OK.replace("\r\n", "\r\nConnection: close\r\n"))))
  expect(await send()).toBe("ok")
  expect(await send()).toBe("ok")
  expect(accepted.length).toBe(2)
  await eventually(() => upstream.connections === 0)
})

it("forgets an idle connection that the application closes", async () => {
  await start(answering)
  expect(await send()).toBe("ok")
  accepted[0]?.end()
  await eventually(() => upstream.connections === 0)
  expect(await send()).toBe("ok")
})

describe("a connection that closes as it is used again", () => {
  /** The first connection answers once and hangs up on the second request. */
  const stale = (socket: Socket, number: number): void => {
    let requests = 0
    socket.on("data", () => {
      if (number === 1 && ++requests === 2) socket.destroy()
      else socket.write(OK)
    })
  }

  test.each(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])("is replaced for %s without content", async method => {
    await start(stale)
    expect(await send()).toBe("ok")
    expect(await send({ method })).not.toMatch(/failure/)
    expect(accepted.length).toBe(2)
  })

  test.each([
    ["POST", false],
    ["PATCH", false],
    ["PUT", true],
  ])("is not replaced for %s (content: %s)", async (method, hasBody) => {
    await start(stale)
    expect(await send()).toBe("ok")
    expect(await send({ method, hasBody })).toBe("failure: reset")
    expect(accepted.length).toBe(1)
  })

  it("is replaced once, not for ever", async () => {
    await start((socket, number) => {
      let requests = 0
      socket.on("data", () => {
        if (number === 1 && ++requests === 1) socket.write(OK)
        else socket.destroy()
      })
    })
    expect(await send()).toBe("ok")
    expect(await send()).toBe("failure: reset")
    expect(accepted.length).toBe(2)
  })

  it("is not replaced once a byte of the response has come", async () => {
    await start(socket => {
      let requests = 0
      socket.on("data", () => {
        if (++requests === 1) socket.write(OK)
        else socket.end("HTTP/1.1 2")
      })
    })
    expect(await send()).toBe("ok")
    expect(await send()).toBe("failure: reset")
    expect(accepted.length).toBe(1)
  })
})

it("does not ask a fresh connection twice", async () => {
  await start(socket => socket.on("data", () => socket.destroy()))
  expect(await send()).toBe("failure: reset")
  expect(accepted.length).toBe(1)
})

describe("limits", () => {
  it("let requests wait for a connection, and refuse those too many", async () => {
    const held: Socket[] = []
    await start(socket => socket.on("data", () => held.push(socket)), {
      upstreamConnections: 1,
      pendingRequests: 2,
      callerSharePercent: 100,
    })
    const sent = [send(), send(), send()]
    expect(await send()).toBe("failure: pending-full")
    expect(meters.limits).toEqual(["pendingRequests"])
    for (let round = 1; round <= 3; round++) {
      await eventually(() => held.length === round)
      held[0]?.write(OK)
    }
    expect(await Promise.all(sent)).toEqual(["ok", "ok", "ok"])
    expect(accepted.length).toBe(1)
  })

  it("end the waiting for a connection", async () => {
    await start(socket => socket.resume(), { upstreamConnections: 1, connectTimeoutMs: 40 })
    const first = send()
    expect(await send()).toBe("failure: pending-full")
    first.abort()
    await eventually(() => upstream.connections === 0)
  })

  it("let an abandoned request leave the queue", async () => {
    const held: Socket[] = []
    await start(socket => socket.on("data", () => held.push(socket)), { upstreamConnections: 1 })
    const first = send()
    const second = send()
    const third = send()
    second.abort()
    await eventually(() => held.length === 1)
    held[0]?.write(OK)
    expect(await first).toBe("ok")
    await eventually(() => held.length === 2)
    held[0]?.write(OK)
    expect(await third).toBe("ok")
  })

  it("end idle connections", async () => {
    await start(answering, { keepAliveTimeoutMs: 40 })
    expect(await send()).toBe("ok")
    await eventually(() => upstream.connections === 0)
  })

  it("end idle connections before the application does, where it says when", async () => {
    await start(socket => socket.on("data", () => socket.write(OK.replace("\r\n", "\r\nKeep-Alive: timeout=1\r\n"))))
    expect(await send()).toBe("ok")
    await eventually(() => upstream.connections === 0)
  })
})

it("tells a connection that cannot be made", async () => {
  await start(answering)
  await new Promise(done => server.close(done))
  expect(await send()).toBe("failure: connect")
  server.listen(upstream.address.port, "127.0.0.1")
  await once(server, "listening")
  expect(await send()).toBe("ok")
})

it("tells a connection that takes too long", async () => {
  await start(answering, { connectTimeoutMs: 40 })
  // TEST-NET-1 (RFC 5737): nobody answers there, or the network says so at once.
  const limits = upstream.limits
  const away = new Http1Upstream({
    address: { host: "192.0.2.1", port: 9 },
    limits,
    meters,
    deadlines: upstream.deadlines,
  })
  const here = upstream
  upstream = away
  expect(await send()).toMatch(/^failure: connect/)
  upstream = here
  // Its failure is told before the system has closed it.
  await expect.poll(() => away.connections).toBe(0)
})
