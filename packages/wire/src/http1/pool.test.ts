// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { afterEach, describe, expect, it, test } from "vitest"
import { Deadlines } from "../http/deadlines.js"
import { LIMITS, type Sent, send as sendTo, until } from "../http/testing/calls.js"
import type { Connect, UpstreamLimits } from "../http/upstream.js"
import { Http1Pool } from "./pool.js"

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

let server: Server
let pool: Http1Pool
let port = 0
const limitsHit: string[] = []
const accepted: Socket[] = []

/** `serve` is called with each connection and its number. */
async function start(
  serve: (socket: Socket, number: number) => void,
  limits: Partial<UpstreamLimits> = {},
  host = "127.0.0.1",
): Promise<void> {
  accepted.length = 0
  limitsHit.length = 0
  server = createServer({ allowHalfOpen: true }, socket => {
    socket.on("error", () => undefined)
    accepted.push(socket)
    serve(socket, accepted.length)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  port = (server.address() as AddressInfo).port // TCP servers have this form
  const all = { ...LIMITS, ...limits }
  const open: Connect = options => connect({ ...options, host, port })
  const observer = { limitHit: (limit: string) => limitsHit.push(limit) }
  pool = new Http1Pool({ connect: open, limits: all, observer, deadlines: new Deadlines(all) })
}

afterEach(async () => {
  pool.destroy()
  for (const socket of accepted) socket.destroy()
  await new Promise(done => server.close(done))
})

/** Resolves with the outcome: the content, or the failure. */
function send(request: Sent = {}): Promise<string> & { abort(): void } {
  const { call, ended } = sendTo(pool, request)
  return Object.assign(ended, { abort: () => call.abort() })
}

const answering = (socket: Socket): void => {
  socket.on("data", () => socket.write(OK))
}

it("reuses the most recently used connection", async () => {
  await start(answering)
  expect(await Promise.all([send(), send(), send()])).toEqual(["ok", "ok", "ok"])
  expect(accepted.length).toBe(3)
  for (let round = 0; round < 10; round++) expect(await send()).toBe("ok")
  expect(accepted.length).toBe(3)
  expect(pool.idleConnections).toBe(3)
})

it("does not reuse a connection that the application wants to close", async () => {
  await start(socket => socket.on("data", () => socket.write(OK.replace("\r\n", "\r\nConnection: close\r\n"))))
  expect(await send()).toBe("ok")
  expect(await send()).toBe("ok")
  expect(accepted.length).toBe(2)
  await until(() => pool.connections === 0)
})

it("forgets an idle connection that the application closes", async () => {
  await start(answering)
  expect(await send()).toBe("ok")
  accepted[0]?.end()
  await until(() => pool.connections === 0)
  expect(await send()).toBe("ok")
})

describe("a connection that closes when it is reused", () => {
  /** The first connection answers once and closes on the second request. */
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
    expect(await send(hasBody ? { method, length: 1 } : { method })).toBe("failure: reset")
    expect(accepted.length).toBe(1)
  })

  it("is replaced only once", async () => {
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

  it("is not replaced once a byte of the response has arrived", async () => {
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

it("does not retry on a new connection", async () => {
  await start(socket => socket.on("data", () => socket.destroy()))
  expect(await send()).toBe("failure: reset")
  expect(accepted.length).toBe(1)
})

describe("limits", () => {
  it("queue requests for a connection, and reject those beyond the limit", async () => {
    const held: Socket[] = []
    await start(socket => socket.on("data", () => held.push(socket)), {
      upstreamConnections: 1,
      pendingRequests: 2,
      callerSharePercent: 100,
    })
    const sent = [send(), send(), send()]
    expect(await send()).toBe("failure: pending-full")
    expect(limitsHit).toEqual(["pendingRequests"])
    for (let round = 1; round <= 3; round++) {
      await until(() => held.length === round)
      held[0]?.write(OK)
    }
    expect(await Promise.all(sent)).toEqual(["ok", "ok", "ok"])
    expect(accepted.length).toBe(1)
  })

  it("limit how long a request waits for a connection", async () => {
    await start(socket => socket.resume(), { upstreamConnections: 1, connectTimeoutMs: 40 })
    const first = send()
    expect(await send()).toBe("failure: pending-full")
    first.abort()
    await until(() => pool.connections === 0)
  })

  it("remove a cancelled request from the queue", async () => {
    const held: Socket[] = []
    await start(socket => socket.on("data", () => held.push(socket)), { upstreamConnections: 1 })
    const first = send()
    const second = send()
    const third = send()
    second.abort()
    await until(() => held.length === 1)
    held[0]?.write(OK)
    expect(await first).toBe("ok")
    await until(() => held.length === 2)
    held[0]?.write(OK)
    expect(await third).toBe("ok")
  })

  it("close idle connections", async () => {
    await start(answering, { keepAliveTimeoutMs: 40 })
    expect(await send()).toBe("ok")
    await until(() => pool.connections === 0)
  })

  it("close idle connections before the application does, if it announces its timeout", async () => {
    await start(socket => socket.on("data", () => socket.write(OK.replace("\r\n", "\r\nKeep-Alive: timeout=1\r\n"))))
    expect(await send()).toBe("ok")
    await until(() => pool.connections === 0)
  })
})

it("reports a connection that cannot be established", async () => {
  await start(answering)
  await new Promise(done => server.close(done))
  expect(await send()).toBe("failure: connect")
  server.listen(port, "127.0.0.1")
  await once(server, "listening")
  expect(await send()).toBe("ok")
})

it("reports a connection that takes too long", async () => {
  // TEST-NET-1 (RFC 5737): no host answers there, or the network reports that at once.
  await start(answering, { connectTimeoutMs: 40 }, "192.0.2.1")
  expect(await send()).toMatch(/^failure: connect/)
  // The failure is reported before the system has closed the socket.
  await until(() => pool.connections === 0)
})
