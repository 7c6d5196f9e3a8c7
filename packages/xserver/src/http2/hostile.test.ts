// SPDX-License-Identifier: Apache-2.0
// Hostile peers: each loses its stream or its connection, the application sees little or nothing of it, and all other
// clients are served.

import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Duplex } from "node:stream"
import fc from "fast-check"
import { afterEach, describe, expect, inject, it, test } from "vitest"
import type { RigOptions } from "../accept/testing/rig.js"
import { type AppListener, answerOf, ask, type Http2Rig, type Speaks, startHttp2Rig } from "./testing/http2-rig.js"
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  GET,
  headerBlock,
  headersFrame,
  RawClient,
  uint32,
} from "./testing/raw-client.js"

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Headers that every request has when it reaches the application. */
const ALWAYS = new Set(["host", "x-forwarded-for", "x-forwarded-proto", "x-request-id", "connection"])

interface Stage {
  readonly seen: readonly IncomingMessage[]
  readonly rig: Http2Rig
  readonly asked: () => number
  readonly dial: () => RawClient
}

async function start(options: RigOptions = {}, speaks: Speaks = "http/1.1"): Promise<Stage> {
  const seen: IncomingMessage[] = []
  const app: AppListener = (request, response) => {
    if (request.url === "/well") {
      response.end("well")
      return
    }
    seen.push(request)
    request.on("error", () => undefined).resume()
    if (request.url === "/big") response.end(Buffer.alloc(5_000_000))
    else if (request.url !== "/never") request.on("end", () => response.end("ok"))
  }
  const rig = await startHttp2Rig(speaks, app, options)
  cleanups.push(() => rig.stop())
  const dial = () => {
    const client = new RawClient(rig.rig.port)
    cleanups.push(() => client.socket.destroy())
    return client
  }
  return { rig, seen, asked: () => seen.length, dial }
}

async function expectServed({ rig }: Stage): Promise<void> {
  const session = rig.connect()
  expect((await ask(session, { ":path": "/well" })).body.toString()).toBe("well")
  session.destroy()
}

/** On a busy machine the short limits for attackers may hit other clients too, so this tries again. */
async function expectServedOnRetry({ rig }: Stage): Promise<void> {
  const answer = async (): Promise<string> => {
    const session = rig.connect()
    const outcome = await ask(session, { ":path": "/well" }).then(({ body }) => body.toString(), String)
    session.destroy()
    return outcome
  }
  await expect.poll(answer).toBe("well")
}

const resetOf = (stream: number) => (sent: { type: number; stream: number }) =>
  sent.type === FRAME.reset && sent.stream === stream

describe.each<Speaks>(["http/1.1", "h2c"])("with an application that speaks %s, cancelled work", speaks => {
  it("in a rapid reset ends the connection (CVE-2023-44487)", async () => {
    const stage = await start({}, speaks)
    const client = stage.dial()
    for (let batch = 0; batch < 100 && !client.socket.destroyed; batch++) {
      const frames: Buffer[] = []
      for (let index = 0; index < 50; index++) {
        const stream = (batch * 50 + index) * 2 + 1
        frames.push(headersFrame(stream, [...GET.slice(0, 2), [":path", "/never"], [":authority", "a"]]))
        frames.push(frame(FRAME.reset, 0, stream, uint32(8)))
      }
      client.send(...frames)
      await new Promise(setImmediate)
    }
    await client.closed
    expect(stage.asked()).toBeLessThan(400)
    await stage.rig.rig.meters.until(meters => meters.open === 0)
    await expectServed(stage)
  })
})

it("ends a flood of CONTINUATION frames before it fills the memory", async () => {
  const stage = await start()
  const client = stage.dial()
  client.send(frame(FRAME.headers, END_STREAM, 1, headerBlock(GET)))
  const part = frame(FRAME.continuation, 0, 1, headerBlock([["x-fill", "y".repeat(8_000)]]))
  for (let index = 0; index < 2_000 && !client.socket.destroyed; index++) {
    client.send(part)
    await new Promise(setImmediate)
  }
  await client.closed
  expect(stage.asked()).toBe(0)
  await expectServed(stage)
})

it("ends a flood of PING frames whose replies are not read", async () => {
  const stage = await start()
  const client = stage.dial()
  client.socket.pause()
  const pings = Buffer.concat(Array.from({ length: 1_000 }, () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))))
  let closed = false
  void client.closed.then(() => {
    closed = true
  })
  for (let index = 0; index < 2_000 && !closed && !client.socket.destroyed; index++) {
    if (!client.socket.write(pings))
      await Promise.race([once(client.socket, "drain"), client.closed]).catch(() => undefined)
  }
  await client.closed
  await stage.rig.rig.meters.until(meters => meters.open === 0)
  await expectServed(stage)
})

it("rejects header lists beyond the limits", async () => {
  const stage = await start({ limits: { headerBytes: 8_192, headerLines: 50 } })
  const many = stage.dial()

  many.send(headersFrame(1, [...GET, ...Array.from({ length: 100 }, (_, index) => [`x-${index}`, "y"] as const)]))
  expect((await many.frame(sent => sent.stream === 1))?.payload.toString("latin1")).toContain("431")
  const large = stage.dial()
  large.send(headersFrame(1, [...GET, ["x-large", "y".repeat(10_000)]]))
  expect((await large.frame(sent => sent.stream === 1))?.payload.toString("latin1")).toContain("431")
  expect(stage.rig.rig.meters.limits).toEqual(["headerLines", "headerBytes"])
  expect(stage.asked()).toBe(0)
  await expectServed(stage)
})

it("rejects streams beyond the limit", async () => {
  const stage = await start({ limits: { streams: 10 } })
  const client = stage.dial()
  await client.frame(sent => sent.type === FRAME.settings)
  client.send(frame(FRAME.settings, 1, 0))
  const never: [string, string][] = [
    [":method", "GET"],
    [":scheme", "http"],
    [":path", "/never"],
    [":authority", "a"],
  ]
  client.send(...Array.from({ length: 30 }, (_, index) => headersFrame(index * 2 + 1, never)))
  // RFC 9113 section 5.1.2: exceeding an acknowledged limit is an error, of the stream or of the connection.
  await client.frame(sent => resetOf(59)(sent) || sent.type === FRAME.goaway)
  expect(stage.asked()).toBeLessThanOrEqual(10)
  await expectServed(stage)
})

describe("times out", () => {
  it("a client that does not open its window", async () => {
    const stage = await start({ limits: { bodyIdleTimeoutMs: 60 } })
    const session = stage.rig.connect({ settings: { initialWindowSize: 0 } })
    const stream = session.request({ ":path": "/big" })
    await new Promise(resolve =>
      stream
        .on("error", () => undefined)
        .once("close", resolve)
        .resume(),
    )
    expect(stream.rstCode).toBe(8)
    expect(stage.rig.rig.meters.limits).toEqual(["bodyIdleTimeoutMs"])
    await expectServed(stage)
  })

  it("a client that does not send the announced content", async () => {
    const stage = await start({ limits: { bodyIdleTimeoutMs: 60 } })
    const stream = stage.rig.connect().request({ ":method": "POST" })
    stream.on("error", () => undefined)
    expect((await answerOf(stream)).status).toBe(408)
  })

  it("a connection without a request", async () => {
    const stage = await start({ limits: { keepAliveTimeoutMs: 60 } })
    const client = stage.dial()
    expect(await client.frame(sent => sent.type === FRAME.goaway)).toBeDefined()
    await client.closed
  })
})

describe("does not become another request:", () => {
  test.each<[string, readonly (readonly [string, string])[]]>([
    ["a line break in a value", [...GET, ["x-a", "b\r\nx-c: d"]]],
    ["a line break in a name", [...GET, ["x-a\r\nx-c", "d"]]],
    ["a colon in a name", [...GET, ["x-a:b", "d"]]],
    ["a NUL in a value", [...GET, ["x-a", "b\0"]]],
    ["capitals in a name", [...GET, ["X-A", "b"]]],
    ["an empty name", [...GET, ["", "b"]]],
    ["Transfer-Encoding", [...GET, ["transfer-encoding", "chunked"]]],
    ["Connection", [...GET, ["connection", "x-forwarded-client-cert"]]],
    ["Upgrade", [...GET, ["upgrade", "websocket"]]],
    ["two lengths", [...GET, ["content-length", "0"], ["content-length", "5"]]],
    ["a length without content", [...GET, ["content-length", "5"]]],
    ["an invalid length", [...GET, ["content-length", "+0"]]],
    [
      "a space in the path",
      [
        [":method", "GET"],
        [":scheme", "http"],
        [":path", "/ HTTP/1.1"],
        [":authority", "a"],
      ],
    ],
    [
      "a line break in the path",
      [
        [":method", "GET"],
        [":scheme", "http"],
        [":path", "/\r\nx: y"],
        [":authority", "a"],
      ],
    ],
    [
      "a line break in the method",
      [
        [":method", "GET / HTTP/1.1\r\n"],
        [":scheme", "http"],
        [":path", "/"],
        [":authority", "a"],
      ],
    ],
    [
      "a line break in the authority",
      [
        [":method", "GET"],
        [":scheme", "http"],
        [":path", "/"],
        [":authority", "a\r\nb: c"],
      ],
    ],
    [
      "an absolute path",
      [
        [":method", "GET"],
        [":scheme", "http"],
        [":path", "http://b/"],
        [":authority", "a"],
      ],
    ],
    ["two paths", [...GET, [":path", "/b"]]],
    ["a pseudo-header at the end", [["x-a", "b"], ...GET]],
    ["no authority", GET.slice(0, 3)],
    ["another host", [...GET, ["host", "b"]]],
    ["an invalid WebSocket request", [[":method", "GET"], [":protocol", "websocket"], ...GET.slice(1)]],
    ["HTTP/2 inside HTTP/2", [[":method", "CONNECT"], [":protocol", "h2c"], ...GET.slice(1)]],
  ])("%s", async (_, lines) => {
    const stage = await start()
    const client = stage.dial()
    client.send(headersFrame(1, lines))
    await client.frame(sent => sent.type === FRAME.goaway || sent.stream === 1)
    for (const { headers, method, url } of stage.seen) {
      expect([method, url]).toEqual(["GET", "/"])
      expect(Object.keys(headers).filter(name => !ALWAYS.has(name))).toEqual([])
    }
    await expectServed(stage)
  })

  it("more content than was announced", async () => {
    const stage = await start()
    const client = stage.dial()
    const post: [string, string][] = [
      [":method", "POST"],
      ...GET.slice(1).map(([name, value]): [string, string] => [name, value]),
    ]
    client.send(headersFrame(1, [...post, ["content-length", "2"]], END_HEADERS))
    client.send(frame(FRAME.data, END_STREAM, 1, Buffer.from("okGET /well HTTP/1.1\r\nhost: a\r\n\r\n")))
    expect(await client.frame(resetOf(1))).toBeDefined()
    await expectServed(stage)
  })
})

// On HTTP/2, Node's `destroy` does not notify the peer once the request has ended.
function breakOff(response: ServerResponse): void {
  const stream: unknown = Reflect.get(response, "stream")
  if (stream instanceof Duplex && "close" in stream && typeof stream.close === "function") stream.close(2)
  else response.destroy()
}

describe.each<Speaks>(["http/1.1", "h2c"])("with an application that speaks %s", speaks => {
  it("survives disconnects at any moment, by clients and by the application", async () => {
    const app: AppListener = (request, response) => {
      const [, when = "0", how = ""] = request.url?.split("/") ?? []
      request.on("error", () => undefined).resume()
      response.on("error", () => undefined)
      const act = (): void => {
        if (how === "break") breakOff(response)
        else if (how === "half") response.write("half", () => breakOff(response))
        else response.end(Buffer.alloc(100_000))
      }
      if (when === "0") act()
      else setTimeout(act, Number(when))
    }
    const rig = await startHttp2Rig(speaks, app)
    cleanups.push(() => rig.stop())
    const session = rig.connect()
    const moment = fc.integer({ min: 0, max: 6 })
    const end = fc.constantFrom("break", "half", "whole")
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(moment, end, moment, fc.boolean()), { maxLength: 30 }), async plan => {
        await Promise.all(
          plan.map(async ([when, how, cancel, upload]) => {
            const stream = session.request({ ":method": upload ? "POST" : "GET", ":path": `/${when}/${how}` })
            const over = new Promise(resolve =>
              stream
                .on("error", () => undefined)
                .once("close", resolve)
                .resume(),
            )
            if (upload) stream.write(Buffer.alloc(50_000))
            // Few enough that the connection does not count as an attack.
            if (cancel === 0) setTimeout(() => stream.close(8), when)
            else if (upload) stream.end()
            await over
          }),
        )
      }),
      { numRuns: 20 * inject("effort") },
    )
    expect((await ask(rig.connect(), { ":path": "/0/whole" })).body.length).toBe(100_000)
    session.destroy()
    await rig.rig.meters.until(meters => meters.open <= 1)
  })
})

it("survives frames of any kind in any order", async () => {
  const stage = await start({ limits: { keepAliveTimeoutMs: 40, bodyIdleTimeoutMs: 40 } })
  const anyFrame = fc
    .tuple(fc.nat(12), fc.nat(255), fc.nat(9), fc.uint8Array({ maxLength: 60 }))
    .map(([type, flags, stream, payload]) => frame(type, flags, stream, Buffer.from(payload)))
  const request = fc.integer({ min: 0, max: 20 }).map(index => headersFrame(index * 2 + 1))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(anyFrame, request), { minLength: 1, maxLength: 20 }), async frames => {
      const client = stage.dial()
      client.send(...frames)
      client.socket.end()
      await client.closed
    }),
    { numRuns: 100 * inject("effort") },
  )
  await stage.rig.rig.meters.until(meters => meters.open === 0)
  expect(stage.rig.rig.connections.size).toBe(0)
  await expectServedOnRetry(stage)
})
