// SPDX-License-Identifier: Apache-2.0
// node:http2 (nghttp2) as the reference: each side reads the header blocks that the other writes. No frames, mutated or
// truncated, get a request to the application that the reference would reject from the same bytes.

import { once } from "node:events"
import { connect as connectHttp2, createServer as createHttp2, type Http2Server } from "node:http2"
import { connect, createServer, type Server, type Socket } from "node:net"
import { Duplex } from "node:stream"
import {
  FOUND,
  FrameReader,
  HpackDecoder,
  HpackEncoder,
  headersText,
  HTTP2_PREFACE as START,
  settingsText,
  HTTP2_FRAME as TYPE,
} from "@merlon/wire"
import { eventually } from "@merlon/wire/testing"
import fc from "fast-check"
import { afterAll, beforeAll, expect, inject, it } from "vitest"
import { listening } from "../accept/testing/rig.js"
import { type AppListener, type Http2Rig, startHttp2Rig } from "./testing/http2-rig.js"
import { END_HEADERS, END_STREAM, FRAME, frame, headersFrame, PREFACE, uint32 } from "./testing/raw-client.js"

let reference: Http2Server
let referenceSaw: string[] = []
let rig: Http2Rig
let gateSaw: string[] = []

beforeAll(async () => {
  reference = createHttp2()
  reference.on("session", session => session.on("error", () => undefined))
  reference.on("stream", (stream, headers) => {
    stream.on("error", () => undefined)
    referenceSaw.push(`${headers[":method"]} ${headers[":path"]}`)
    stream.resume()
    if (!stream.destroyed) stream.respond({ ":status": 200 }, { endStream: true })
  })
  const app: AppListener = (request, response) => {
    gateSaw.push(`${request.method} ${request.url}`)
    request.on("error", () => undefined).resume()
    response.end()
  }
  rig = await startHttp2Rig("http/1.1", app)
})
afterAll(async () => {
  reference.close()
  await rig.stop()
})

const NAMES = ["x-a", "x-b", "accept", "cookie", "x-custom-header"] as const
const fields = fc.array(
  fc.tuple(
    fc.constantFrom(...NAMES),
    fc.string({ unit: fc.constantFrom(..."abcXYZ019 -/=;,~".split("")) }).map(text => text.trim()),
  ),
  { maxLength: 10 },
)

it("reads the header blocks that node:http2 writes", async () => {
  const received: Buffer[] = []
  const server: Server = createServer(socket => {
    socket.write(Buffer.concat([frame(FRAME.settings, 0, 0), frame(FRAME.settings, 1, 0)]))
    socket.on("data", chunk => received.push(chunk)).on("error", () => undefined)
  })
  const session = connectHttp2(`http://127.0.0.1:${await listening(server)}`)
  session.on("error", () => undefined)
  const reader = new FrameReader()
  const decoder = new HpackDecoder(64 * 1024, 200)
  let skip = START.length
  await fc.assert(
    fc.asyncProperty(fields, async list => {
      const headers: Record<string, string[]> = {}
      for (const [name, value] of list) headers[name] = [...(headers[name] ?? []), value]
      const stream = session.request({ ":path": "/p", ...headers })
      stream.on("error", () => undefined)
      let got: readonly string[] | undefined
      while (got === undefined) {
        await eventually(() => received.length > 0, { what: "node:http2 has sent a header block" })
        for (const chunk of received.splice(0)) {
          let at = Math.min(skip, chunk.length)
          skip -= at
          for (let found = reader.read(chunk, at, chunk.length); found !== FOUND.nothing; ) {
            if (found === FOUND.frame && reader.type === TYPE.headers) {
              const priority = (reader.flags & 0x20) === 0 ? 0 : 5
              const block = decoder.decode(reader.bytes, reader.start + priority, reader.end)
              got = block?.filter(({ pseudo }) => !pseudo).map(({ name, value }) => `${name}: ${value}`)
              expect(block).toBeDefined()
            }
            at = reader.next
            found = reader.read(chunk, at, chunk.length)
          }
        }
      }
      const expected = Object.entries(headers).flatMap(([name, values]) => values.map(value => `${name}: ${value}`))
      expect([...got].sort()).toEqual(expected.sort())
      stream.close()
    }),
    { numRuns: 100 * inject("effort") },
  )
  session.destroy()
  server.close()
})

it("writes header blocks that node:http2 reads", async () => {
  const seen: string[][] = []
  const server = createHttp2()
  server.on("stream", (stream, _, __, raw: readonly string[] = []) => {
    stream.on("error", () => undefined)
    const pairs: string[] = []
    for (let index = 0; index < raw.length; index += 2) pairs.push(`${raw[index]}: ${raw[index + 1]}`)
    seen.push(pairs)
    stream.respond({ ":status": 200 }, { endStream: true })
  })
  const socket = connect(await listening(server), "127.0.0.1").on("error", () => undefined)
  socket.resume().write(START + settingsText([]), "latin1")
  const encoder = new HpackEncoder()
  let id = 1
  await fc.assert(
    fc.asyncProperty(fields, async list => {
      const all = [[":method", "GET"], [":scheme", "http"], [":path", `/${id}`], [":authority", "a"], ...list] as const
      for (const [name = "", value = ""] of all) encoder.field(name, value)
      const before = seen.length
      socket.write(headersText(id, encoder.finish(), true), "latin1")
      id += 2
      await eventually(() => seen.length > before, {
        what: `the server has stream ${id - 2}`,
        change: signal => once(server, "stream", { signal }),
      })
      expect(seen.at(-1)).toEqual(all.map(([name, value]) => `${name}: ${value}`))
    }),
    { numRuns: 100 * inject("effort") },
  )
  socket.destroy()
  server.close()
})

/** Sends the bytes to the proxy in two pieces, and ends the connection after reading to its end. */
async function sendToGate(bytes: Buffer, cut: number): Promise<void> {
  const socket: Socket = connect({ port: rig.rig.port, host: "127.0.0.1", noDelay: true }).on("error", () => undefined)
  const closed = new Promise(resolve => socket.once("close", resolve))
  socket.resume().write(bytes.subarray(0, cut))
  await new Promise(setImmediate)
  socket.end(bytes.subarray(cut))
  await closed
}

/**
 * Passes the bytes to the reference without a network: after some turns of the event loop it has read everything, or
 * never will.
 */
async function sendToReference(bytes: Buffer): Promise<void> {
  const duplex = new Duplex({ read: () => undefined, write: (_, __, done) => done() })
  duplex.on("error", () => undefined)
  reference.emit("connection", duplex)
  duplex.push(bytes)
  for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate)
  duplex.destroy()
}

const path = fc.constantFrom("/a", "/b", "/c")
const request = fc
  .record({
    index: fc.nat(4),
    path,
    more: fc.array(
      fc.tuple(
        fc.constantFrom("x-a", "X-A", "connection", "te", "host", "content-length", ":path", "", "x b", "cookie"),
        fc.constantFrom("1", "trailers", "a", "", " x", "b\r\nc: d", "\0", "5"),
      ),
      { maxLength: 2 },
    ),
    flags: fc.constantFrom(END_HEADERS | END_STREAM, END_HEADERS, END_STREAM),
  })
  .map(({ index, path: at, more, flags }) =>
    headersFrame(
      index * 2 + 1,
      [[":method", "GET"], [":scheme", "http"], [":path", at], [":authority", "a"], ...more],
      flags,
    ),
  )
const other = fc
  .tuple(fc.nat(10), fc.constantFrom(0, 1, 4, 5, 8, 0x20, 0xff), fc.nat(5), fc.uint8Array({ maxLength: 30 }))
  .map(([type, flags, stream, payload]) => frame(type, flags, stream, Buffer.from(payload)))
const good = fc.constantFrom(
  frame(FRAME.settings, 0, 0),
  frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
  frame(FRAME.windowUpdate, 0, 0, uint32(1)),
  frame(FRAME.data, END_STREAM, 1, Buffer.from("x")),
)

it("accepts no request that node:http2 rejects, for any mutated and truncated frames", async () => {
  const frames = fc.array(fc.oneof({ weight: 3, arbitrary: request }, other, { weight: 2, arbitrary: good }), {
    minLength: 1,
    maxLength: 6,
  })
  const mutation = fc.option(fc.tuple(fc.nat(), fc.nat(255)), { nil: undefined })
  await fc.assert(
    fc.asyncProperty(frames, mutation, fc.nat(), async (list, mutated, cut) => {
      const body = Buffer.concat(list)
      if (mutated !== undefined) body[mutated[0] % body.length] = mutated[1]
      const bytes = Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), body])
      referenceSaw = []
      gateSaw = []
      await Promise.all([sendToReference(bytes), sendToGate(bytes, cut % bytes.length)])
      const left = [...referenceSaw]
      for (const seen of gateSaw) {
        expect(left, "accepted what node:http2 rejects").toContain(seen)
        left.splice(left.indexOf(seen), 1)
      }
    }),
    { numRuns: 300 * inject("effort") },
  )
})
