// SPDX-License-Identifier: Apache-2.0
// Frames that cost the proxy more than their sender: each kind has a budget, the connection ends, and others are
// served.

import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { type AppListener, ask, type Http2Rig, startHttp2Rig } from "./testing/http2-rig.js"
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

let rig: Http2Rig
let asked: number
const clients: RawClient[] = []

beforeEach(async () => {
  asked = 0
  const app: AppListener = (request, response) => {
    asked++
    request.on("error", () => undefined).resume()
    if (request.url === "/big") response.end(Buffer.alloc(1_000_000))
    else if (request.url !== "/never") response.end("well")
  }
  rig = await startHttp2Rig("http/1.1", app)
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  await rig.stop()
})

function dial(): RawClient {
  const client = new RawClient(rig.rig.port)
  clients.push(client)
  return client
}

const get = (path: string) => GET.map(([name, value]) => [name, name === ":path" ? path : value] as const)
/** If the proxy still answers this ping, it has not closed the connection. */
const LAST = Buffer.from("the last")

async function expectCalm(client: RawClient): Promise<void> {
  client.send(frame(FRAME.ping, 0, 0, LAST))
  const end = await client.frame(
    ({ type, payload }) => type === FRAME.goaway || (type === FRAME.ping && payload.equals(LAST)),
  )
  expect(end?.type).not.toBe(FRAME.ping)
  // Checked by the meters, because a reset may overtake GOAWAY.
  expect(rig.rig.meters.limits).toContain("streams")
  await client.closed
  expect((await ask(rig.connect(), { ":path": "/well" })).body.toString()).toBe("well")
}

async function flood(client: RawClient, make: (index: number) => Buffer, times = 200): Promise<void> {
  for (let index = 0; index < times && !client.socket.destroyed; index++) {
    client.send(...Array.from({ length: 50 }, (_, at) => make(index * 50 + at)))
    await new Promise(setImmediate)
  }
}

const POST = [[":method", "POST"] as const, ...get("/never").slice(1)]
const over = (stream: number): Buffer => frame(FRAME.reset, 0, stream, uint32(8))

test.each<[string, () => Buffer]>([
  ["empty content", () => frame(FRAME.data, 0, 1)],
  ["priorities", () => frame(2, 0, 3, Buffer.from([0, 0, 0, 0, 1]))],
  ["pings", () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
  ["unrequested ping acknowledgements", () => frame(FRAME.ping, 1, 0, Buffer.alloc(8))],
  ["settings", () => frame(FRAME.settings, 0, 0)],
  ["farewells", () => frame(FRAME.goaway, 0, 0, Buffer.alloc(8))],
  ["frames of an unknown type", () => frame(0xee, 0, 0, Buffer.alloc(10))],
  ["windows that grow by one", () => frame(FRAME.windowUpdate, 0, 0, uint32(1))],
])("ends a connection of %s", async (_, make) => {
  const client = dial()
  client.send(headersFrame(1, POST, END_HEADERS))
  await flood(client, make)
  await expectCalm(client)
})

test.each<[string, (stream: number) => Buffer]>([
  ["resets", over],
  ["ends", stream => frame(FRAME.data, END_STREAM, stream)],
  ["headers", stream => headersFrame(stream)],
])("ends a connection of %s on a stream that the proxy has reset", async (_, make) => {
  const client = dial()
  // A window update of zero is a stream error (RFC 9113 section 6.9).
  client.send(headersFrame(1, POST, END_HEADERS), frame(FRAME.windowUpdate, 0, 1, uint32(0)))
  await client.frame(({ type, stream }) => type === FRAME.reset && stream === 1)
  await flood(client, () => make(1))
  await expectCalm(client)
})

it("ends a connection of headers in many pieces", async () => {
  const client = dial()
  const block = headerBlock(get("/well"))
  await flood(client, index => {
    const stream = Math.floor(index / 50) * 2 + 1
    if (index % 50 === 0) return frame(FRAME.headers, END_STREAM, stream, block)
    return frame(FRAME.continuation, index % 50 === 49 ? END_HEADERS : 0, stream)
  })
  await expectCalm(client)
})

describe("ends a connection of requests", () => {
  test.each<[string, (stream: number) => Buffer]>([
    ["that it cancels (CVE-2023-44487)", stream => Buffer.concat([headersFrame(stream, get("/never")), over(stream)])],
    [
      "that it makes the proxy cancel (CVE-2025-8671)",
      stream => Buffer.concat([headersFrame(stream, get("/never")), frame(FRAME.windowUpdate, 0, stream, uint32(0))]),
    ],
    ["that are malformed", stream => headersFrame(stream, [...GET, [":path", "/b"]])],
    ["beyond the announced limit", stream => headersFrame(stream, get("/never"))],
  ])("%s", async (_, make) => {
    const client = dial()
    await client.frame(({ type }) => type === FRAME.settings)
    // With room for all responses; otherwise the window would stop them.
    client.send(frame(FRAME.settings, 1, 0), frame(FRAME.windowUpdate, 0, 0, uint32(1_000_000_000)))
    await flood(client, index => make(index * 2 + 1), 60)
    await expectCalm(client)
    expect(asked).toBeLessThan(400)
  })
})

it("ends a connection whose window opens a byte at a time (CVE-2019-9511)", async () => {
  const client = dial()
  client.send(
    frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(1)])),
    headersFrame(1, get("/big")),
  )
  await client.frame(({ type }) => type === FRAME.data)
  for (let index = 0; index < 5_000 && !client.socket.destroyed; index++) {
    client.send(frame(FRAME.windowUpdate, 0, 1, uint32(1)))
    if (index % 50 === 0) await new Promise(setImmediate)
  }
  await expectCalm(client)
})

it("counts a caller's cancelled requests across its connections", async () => {
  let connections = 0
  for (; connections < 60; connections++) {
    const client = dial()
    for (let index = 0; index < 40; index++) {
      const stream = index * 2 + 1
      client.send(headersFrame(stream, get("/never")), frame(FRAME.reset, 0, stream, uint32(8)))
    }
    client.send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)))
    const answer = await client.frame(
      ({ type, flags }) => type === FRAME.goaway || (type === FRAME.ping && flags === 1),
    )
    client.socket.destroy()
    if (answer?.type !== FRAME.ping) break
  }
  // No connection comes near the limit of one connection; together they reach it.
  expect(connections).toBeLessThan(59)
})

describe("content in single bytes", () => {
  it("is forwarded, and waiting content needs no object per byte", async () => {
    const client = dial()
    const post = [[":method", "POST"] as const, ...get("/well").slice(1)]
    client.send(headersFrame(1, post, END_HEADERS))
    const byte = frame(FRAME.data, 0, 1, Buffer.from("x"))
    client.send(Buffer.concat(Array.from({ length: 60_000 }, () => byte)), frame(FRAME.data, END_STREAM, 1))
    const head = await client.frame(({ type, stream }) => type === FRAME.headers && stream === 1)
    expect(head).toBeDefined()
    expect(asked).toBe(1)
  })
})

it("serves a thousand streams of one connection, as many at once as announced", async () => {
  const session = rig.connect()
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => ask(session, { ":path": "/well" })))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})
