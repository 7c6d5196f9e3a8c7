// SPDX-License-Identifier: Apache-2.0
// Limits that several pools share, tested with servers that respond when the test says so.

import { once } from "node:events"
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createHttp2, type Http2ServerRequest, type Http2ServerResponse } from "node:http2"
import { type AddressInfo, connect, type Server, type Socket } from "node:net"
import fc from "fast-check"
import { afterEach, describe, expect, it } from "vitest"
import { Http1Pool } from "../http1/pool.js"
import { Http2Pool } from "../http2/pool.js"
import { Quota } from "../limits/quota.js"
import { Deadlines } from "./deadlines.js"
import { LIMITS, Outcome, outgoing, send, until } from "./testing/calls.js"
import type { Upstream } from "./upstream.js"

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Version = "http/1.1" | "h2"

class Served {
  readonly held: ServerResponse[] = []
  readonly sockets: Socket[] = []
  readonly #server: Server

  constructor(version: Version) {
    const hold = (request: IncomingMessage, response: ServerResponse): void => {
      const chunks: string[] = []
      request.on("data", chunk => chunks.push(String(chunk)))
      request.on("end", () => {
        response.setHeader("x-content", chunks.join(""))
        this.held.push(response)
      })
    }
    // The compatibility API of node:http2 has the same methods.
    const compatible = hold as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void
    this.#server = version === "h2" ? createHttp2(compatible) : createHttp1(hold)
    this.#server.on("connection", (socket: Socket) => {
      this.sockets.push(socket)
      socket.on("error", () => undefined)
    })
  }

  async listen(): Promise<number> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening")
    cleanups.push(() => {
      for (const socket of this.sockets) socket.destroy()
      return new Promise(done => this.#server.close(done))
    })
    return (this.#server.address() as AddressInfo).port // TCP servers have this form
  }

  answer(content = "ok"): void {
    this.held.shift()?.end(content)
  }
}

interface Most {
  readonly connections?: number
  readonly pending?: number
  readonly perConnection?: number
}

function sharing({ connections = 1, pending = 1, perConnection = 0 }: Most) {
  return {
    connections: new Quota({ all: connections }),
    pending: new Quota({ all: pending }),
    requestsPerConnection: perConnection,
  }
}

async function start(version: Version, shared: ReturnType<typeof sharing>) {
  const served = new Served(version)
  const port = await served.listen()
  const limits = { ...LIMITS, connectTimeoutMs: 60_000 }
  const options = {
    ...{ limits, shared, deadlines: new Deadlines(limits), retries: false },
    connect: (how: { readonly allowHalfOpen: boolean }) => connect({ ...how, host: "127.0.0.1", port }),
  }
  const pool: Upstream = version === "h2" ? new Http2Pool(options) : new Http1Pool(options)
  cleanups.push(() => pool.destroy())
  return { pool, served }
}

describe.each(["http/1.1", "h2"] as const)("%s", version => {
  it("closes a connection after its last request, and makes the next request wait for a new one", async () => {
    const { pool, served } = await start(version, sharing({ perConnection: 1 }))
    const [first, second, third] = [send(pool), send(pool), send(pool)]
    expect(await third.ended).toBe("failure: pending-full")
    await until(() => served.held.length === 1)
    served.answer()
    expect(await first.ended).toBe("ok")
    await until(() => served.held.length === 1)
    served.answer()
    expect(await second.ended).toBe("ok")
    expect(served.sockets.length).toBe(2)
  })

  it("sends the content and trailers of a queued request", async () => {
    const { pool, served } = await start(version, sharing({ perConnection: 1 }))
    const first = send(pool)
    const waiting = new Outcome(pool, outgoing({ method: "POST", chunked: true }))
    waiting.call.content(Buffer.from("-hello-"), 1, 6)
    waiting.call.finishRequest([["x-t", "t"]])
    waiting.call.flush()
    expect(waiting.call.full).toBe(true)
    await until(() => served.held.length === 1)
    served.answer()
    await first.ended
    await until(() => served.held.length === 1)
    expect(served.held[0]?.getHeader("x-content")).toBe("hello")
    expect(waiting.writable).toBeGreaterThan(0)
    served.answer("read")
    expect(await waiting.ended).toBe("read")
  })

  it("frees the slot of a queued request that is cancelled", async () => {
    const shared = sharing({ perConnection: 1 })
    const { pool } = await start(version, shared)
    send(pool)
    send(pool).call.abort()
    expect(shared.pending.used).toBe(0)
    const waiting = send(pool)
    expect(await send(pool).ended).toBe("failure: pending-full")
    pool.destroy()
    expect(await waiting.ended).toBe("failure: connect")
    await pool.close()
    expect([shared.pending.used, shared.connections.used]).toEqual([0, 0])
  })

  it("gives each endpoint at least one connection", async () => {
    const shared = sharing({ connections: 1, pending: 0, perConnection: 1 })
    const [one, other] = [await start(version, shared), await start(version, shared)]
    send(one.pool)
    const sent = send(other.pool)
    expect(await send(other.pool).ended).toBe("failure: pending-full")
    await until(() => other.served.held.length === 1)
    other.served.answer()
    expect(await sent.ended).toBe("ok")
  })

  it("runs and queues as many requests as a model does", async () => {
    const step = fc.constantFrom("send", "send", "answer", "abort")
    const most = fc.record({ connections: fc.integer({ min: 1, max: 3 }), pending: fc.integer({ min: 0, max: 2 }) })
    await fc.assert(
      fc.asyncProperty(most, fc.array(step, { maxLength: 25 }), async (bounds, steps) => {
        const shared = sharing({ ...bounds, perConnection: 1 })
        const { pool, served } = await start(version, shared)
        const open: Outcome[] = []
        // Requests are served in order: the first ones run, the others wait.
        const runs = () => Math.min(open.length, bounds.connections)
        for (const one of steps) {
          if (one === "send") {
            const outcome = send(pool)
            if (open.length < bounds.connections + bounds.pending) open.push(outcome)
            else expect(await outcome.ended).toBe("failure: pending-full")
          } else if (one === "answer" && open.length > 0) {
            await until(() => served.held.length === runs())
            served.answer()
            const finished = await Promise.race(open.slice(0, runs()).map(each => each.ended.then(() => each)))
            open.splice(open.indexOf(finished), 1)
          } else if (one === "abort" && open.length > bounds.connections) {
            open.pop()?.call.abort()
          }
          expect(shared.pending.used).toBeLessThanOrEqual(bounds.pending)
          expect(shared.connections.used).toBeLessThanOrEqual(bounds.connections)
          await until(() => shared.pending.used === open.length - runs() && shared.connections.used === runs())
        }
        pool.destroy()
        await until(() => shared.pending.used + shared.connections.used === 0)
      }),
      { numRuns: 25 },
    )
  })
})
