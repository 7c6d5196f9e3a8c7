// SPDX-License-Identifier: Apache-2.0
// Applications that speak HTTP/2 and leave a stream open after a response without content.

import { connect, createServer, type Socket } from "node:net"
import { connectTcp, Http2Pool } from "@merlon/wire"
import { type Connect, Deadlines } from "@merlon/wire/http"
import { eventually } from "@merlon/wire/testing"
import { afterEach, expect, test } from "vitest"
import { listening, PATIENT_LIMITS, type Rig, startRig } from "../accept/testing/rig.js"
import { forwardTo } from "../http/exchange.js"
import { serveHttp1 } from "../http1/serve.js"
import { RawClient as Http1Client } from "../http1/testing/rig.js"
import { serveHttp2 } from "./serve.js"
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  type Frame,
  frame,
  GET,
  headerBlock,
  headersFrame,
  PREFACE,
  RawClient,
} from "./testing/raw-client.js"

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Application {
  readonly rig: Rig
  /** Frames that the application received. */
  readonly frames: readonly Frame[]
}

/** An application that responds with these fields and then these frames, which need not end the stream. */
async function start(
  fields: readonly (readonly [string, string])[],
  upstreamStreams: number,
  then: (stream: number) => Buffer = () => Buffer.alloc(0),
): Promise<Application> {
  const frames: Frame[] = []
  let connection: Socket | undefined
  const server = createServer(socket => {
    connection = socket.on("error", () => undefined)
    socket.write(frame(FRAME.settings, 0, 0))
    let rest = Buffer.alloc(0)
    let greeted = false
    socket.on("data", chunk => {
      rest = Buffer.concat([rest, chunk])
      if (!greeted && rest.length >= PREFACE.length) {
        greeted = true
        rest = rest.subarray(PREFACE.length)
      }
      while (greeted && rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
        const end = 9 + rest.readUIntBE(0, 3)
        const [type = 0, flags = 0] = rest.subarray(3, 5)
        const stream = rest.readUInt32BE(5)
        frames.push({ type, flags, stream, payload: rest.subarray(9, end) })
        rest = rest.subarray(end)
        if (type !== FRAME.headers) continue
        socket.write(Buffer.concat([frame(FRAME.headers, END_HEADERS, stream, headerBlock(fields)), then(stream)]))
      }
    })
  })
  const address = { host: "127.0.0.1", port: await listening(server) }
  const limits = { ...PATIENT_LIMITS, upstreamStreams, callerSharePercent: 100 }
  const deadlines = new Deadlines(limits)
  const rig = await startRig({
    limits,
    handlers: ({ parts }) => {
      const connect: Connect = how => connectTcp(address, limits.connectTimeoutMs, how)
      const upstream = new Http2Pool({ connect, limits, deadlines, observer: parts.meters })
      const services = { ...parts, deadlines }
      const forwarded = forwardTo(() => upstream)
      return { http1: serveHttp1(services, forwarded), http2: serveHttp2(services, forwarded) }
    },
  })
  cleanups.push(async () => {
    await rig.stop()
    connection?.destroy()
    server.close()
  })
  return { rig, frames }
}

const EMPTY = [
  ["HEAD", [[":status", "200"] as const, ["content-length", "5"] as const]],
  ["GET", [[":status", "204"] as const]],
  ["GET", [[":status", "304"] as const]],
] as const

test.each(EMPTY)(
  "a stream left open after the response to %s %j is reset, and its slot is free",
  async (method, fields) => {
    const { rig, frames } = await start(fields, 1)
    const client = new RawClient(rig.port)
    cleanups.push(() => client.socket.destroy())
    const request = GET.map(([name, value]) => [name, name === ":method" ? method : value] as const)
    client.send(headersFrame(1, request))
    expect(await client.frame(({ type, stream }) => type === FRAME.headers && stream === 1)).toMatchObject({
      flags: END_STREAM | END_HEADERS,
    })
    await eventually(() => frames.some(({ type }) => type === FRAME.reset))
    client.send(headersFrame(3, request))
    const second = await client.frame(({ type, stream }) => type === FRAME.headers && stream === 3)
    expect(second?.payload.toString("latin1")).not.toContain("503")
    expect(frames.filter(({ type }) => type === FRAME.headers)).toHaveLength(2)
  },
)

test.each(EMPTY)("an HTTP/1.1 caller need not wait for the end of the response to %s %j", async (method, fields) => {
  const { rig } = await start(fields, 10)
  const client = new Http1Client(connect({ host: "127.0.0.1", port: rig.port }))
  cleanups.push(() => client.socket.destroy())
  client.send(`${method} /1 HTTP/1.1\r\nHost: a\r\n\r\n${method} /2 HTTP/1.1\r\nHost: a\r\n\r\n`)
  await client.until(({ received }) => (received.match(/HTTP\/1.1 [23]/g) ?? []).length === 2)
})

test("an end in a separate frame is no error of the application", async () => {
  const { rig, frames } = await start([[":status", "204"]], 1, stream => frame(FRAME.data, END_STREAM, stream))
  const client = new RawClient(rig.port)
  cleanups.push(() => client.socket.destroy())
  for (const stream of [1, 3, 5]) {
    client.send(headersFrame(stream))
    await client.frame(({ type, stream: id }) => type === FRAME.headers && id === stream)
  }
  expect(rig.meters.records.map(({ status }) => status)).toEqual([204, 204, 204])
  expect(frames.some(({ type }) => type === FRAME.reset)).toBe(false)
})
