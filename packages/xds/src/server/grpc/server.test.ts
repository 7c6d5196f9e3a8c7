// SPDX-License-Identifier: Apache-2.0
// Requests that clients other than grpc-js may send, on a real port.

import { once } from "node:events"
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { queryObjects } from "node:v8"
import {
  HTTP2_FRAME as FRAME,
  frameHeader,
  HpackEncoder,
  headersText,
  HTTP2_PREFACE as PREFACE,
  pingText,
  resetText,
  settingsText,
} from "@merlon/wire"
import { afterEach, beforeEach, describe, expect, it, test } from "vitest"
import { type ServerRig, serverRig } from "../../testing/server-rig.js"
import { SERVER_NAME } from "../../testing/test-authority.js"
import { deltaAggregatedResources, signCertificate } from "../../wire/methods.js"
import type { ServerLimits } from "../limits.js"

const GRPC = { ":method": "POST", "content-type": "application/grpc", te: "trailers" }
const closing: (() => unknown)[] = []
let rig: ServerRig
let session: ClientHttp2Session

async function start(limits: Partial<ServerLimits> = {}): Promise<void> {
  rig = await serverRig({ limits })
  const { server } = rig
  closing.push(() => server.close())
  session = connect(`https://${rig.address}`, { ca: rig.authority.bundle, servername: SERVER_NAME })
  session.on("error", () => undefined)
  const opened = session
  closing.unshift(() => opened.destroy())
}

beforeEach(() => start())
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function call(headers: OutgoingHttpHeaders, content: Buffer = Buffer.alloc(0), end = true): ClientHttp2Stream {
  const stream = session.request({ ...GRPC, ...headers })
  stream.on("error", () => undefined)
  if (content.length > 0) stream.write(content)
  if (end) stream.end()
  return stream
}

/** All headers and trailers of the response. */
function answer(stream: ClientHttp2Stream): Promise<OutgoingHttpHeaders> {
  return new Promise(resolve => {
    let all: OutgoingHttpHeaders = {}
    const take = (fields: OutgoingHttpHeaders) => {
      all = { ...all, ...fields }
    }
    stream.on("response", take)
    stream.on("trailers", take)
    stream.once("close", () => resolve({ ...all, code: stream.rstCode }))
    stream.resume()
  })
}

function message(length: number, flag = 0, announced = length): Buffer {
  const bytes = Buffer.alloc(5 + length)
  bytes[0] = flag
  bytes.writeUInt32BE(announced, 1)
  return bytes
}

const SIGN = { ":path": signCertificate.path, authorization: "Bearer good:orders-1" }
const DELTA = { ":path": deltaAggregatedResources.path, authorization: "Bearer good:orders-1" }

describe("a call", () => {
  test.each<[string, OutgoingHttpHeaders, Buffer, { readonly [field: string]: unknown }]>([
    ["of an unknown method", { ":path": "/none" }, message(0), { "grpc-status": "12" }],
    ["without a message", SIGN, Buffer.alloc(0), { "grpc-status": "3", "grpc-message": "no message arrived" }],
    ["with half a message", SIGN, message(3, 0, 9), { "grpc-status": "3", "grpc-message": /incomplete/ }],
    ["with two messages", SIGN, Buffer.concat([message(0), message(0)]), { "grpc-status": "3" }],
    ["with a compressed message", SIGN, message(3, 1), { "grpc-status": "12", "grpc-message": /compressed/ }],
    ["with bytes that are not a message", SIGN, Buffer.from("\0\0\0\0\x01\xff", "latin1"), { "grpc-status": "3" }],
    ["that is not gRPC", { ...SIGN, "content-type": "text/plain" }, message(0), { ":status": 415 }],
    ["that is not POST", { ...SIGN, ":method": "PUT" }, message(0), { ":status": 405 }],
  ])("%s gets an error", async (_, headers, content, expected) => {
    const got = await answer(call(headers, content))
    for (const [name, value] of Object.entries(expected)) {
      if (value instanceof RegExp) expect(got[name]).toMatch(value)
      else expect(got[name]).toBe(value)
    }
  })

  it("that sends no message is ended, and others continue", async () => {
    await start({ callMs: 300 })
    const late = await answer(call(SIGN, Buffer.alloc(0), false))
    expect(late).toMatchObject({ "grpc-status": "4" })
    expect(await answer(call({ ":path": "/none" }))).toMatchObject({ "grpc-status": "12" })
  })
})

describe("an unauthenticated caller", () => {
  it("makes us keep no more than the window of its stream", async () => {
    rig.state.tokens = "hanging"
    const stream = call(DELTA, message(1_000_000), false)
    // Its window is exhausted and not extended, so the rest stays with the client.
    await expect.poll(() => session.state.remoteWindowSize, { timeout: 90_000 }).toBeLessThanOrEqual(3 * 65_535)
    // The response to a PING follows everything before it, and the next one follows what that caused.
    for (let turn = 0; turn < 3; turn++) await new Promise(resolve => session.ping(resolve))
    expect(session.state.remoteWindowSize).toBe(3 * 65_535)
    expect(stream.closed).toBe(false)
  })
})

describe("a connection", () => {
  it("without calls is closed after a while", async () => {
    await start({ idleConnectionMs: 200 })
    await new Promise(resolve => session.once("close", resolve))
  })

  it("whose client answers no PING is closed", async () => {
    await start({ pingEveryMs: 100, pingTimeoutMs: 100 })
    const socket = await raw()
    socket.write(OPENING + headersText(1, headBlock(new HpackEncoder()), false), "latin1")
    await once(socket, "close")
  })

  it("whose client answers PINGs stays open", async () => {
    await start({ pingEveryMs: 50, pingTimeoutMs: 60_000 })
    const stream = call(DELTA, Buffer.alloc(0), false)
    let pings = 0
    session.on("ping", () => void pings++)
    await expect.poll(() => pings, { timeout: 90_000 }).toBeGreaterThan(2)
    expect(stream.closed).toBe(false)
  })

  it("may reset only a limited number of streams", async () => {
    const socket = await raw()
    const encoder = new HpackEncoder()
    let frames = OPENING
    for (let id = 1; id < 1_200; id += 2) frames += headersText(id, headBlock(encoder), false) + resetText(id, 8)
    let result = ""
    socket.on("data", bytes => {
      result += bytes.toString("latin1")
    })
    socket.write(frames, "latin1")
    await once(socket, "close")
    expect(result).toContain("too many streams thrown away")
  })
})

describe("content that arrives before authentication", () => {
  const SINGLE_BYTES = 10_000
  const single = `${frameHeader(1, FRAME.data, 0, 1)}\0`

  it("is held in few buffers, however small its pieces", async () => {
    // This client answers no PINGs, and a busy machine may exceed the time limits for those or for authentication.
    await start({ pingEveryMs: 600_000, proofMs: 600_000 })
    rig.state.tokens = "hanging"
    const opening = OPENING + headersText(1, headBlock(new HpackEncoder()), false)
    // Before the connection is opened: counting blocks this process for seconds, in which a handshake would time out.
    const before = countBuffers()
    const socket = await raw()
    // The response to this PING means that everything before it was read.
    socket.write(opening + single.repeat(SINGLE_BYTES) + pingText(false, "read all"), "latin1")
    let result = ""
    socket.on("data", bytes => {
      result += bytes.toString("latin1")
    })
    await expect.poll(() => result.includes(pingText(true, "read all")), { timeout: 90_000 }).toBe(true)
    expect(countBuffers() - before).toBeLessThan(SINGLE_BYTES / 10)
  })

  it("is read completely after authentication", async () => {
    const stream = call(SIGN, Buffer.alloc(0), false)
    for (const byte of message(0)) stream.write(Buffer.of(byte))
    stream.end()
    expect(await answer(stream)).toMatchObject({ "grpc-status": "3", "grpc-message": /signing_request/ })
  })
})

const countBuffers = (): number => queryObjects(Buffer, { format: "count" })

const OPENING = PREFACE + settingsText([])

function headBlock(encoder: HpackEncoder): string {
  const { ":path": path, ...fields } = { ...GRPC, ...DELTA }
  // Pseudo-headers come first, or the head is malformed.
  const head = { ":scheme": "https", ":path": path, ...fields }
  for (const [name, value] of Object.entries(head)) encoder.field(name, value)
  return encoder.finish()
}

/** A connection that sends what the test writes, and answers nothing. */
async function raw(): Promise<TLSSocket> {
  const { server, authority } = rig
  const port = { host: "127.0.0.1", port: server.port }
  const socket = connectTls({ ...port, ca: authority.bundle, servername: SERVER_NAME, ALPNProtocols: ["h2"] })
  socket.on("error", () => undefined)
  socket.resume()
  closing.unshift(() => socket.destroy())
  await once(socket, "secureConnect")
  return socket
}
