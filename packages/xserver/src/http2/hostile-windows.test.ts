// SPDX-License-Identifier: Apache-2.0
// Content beyond what its sender was allowed: on one stream, and on all streams of a connection together. The
// application reads nothing meanwhile, so no window opens further.

import { afterEach, beforeEach, expect, it } from "vitest"
import { type AppListener, type Http2Rig, startHttp2Rig } from "./testing/http2-rig.js"
import { END_HEADERS, FRAME, frame, GET, headersFrame, RawClient } from "./testing/raw-client.js"

const FLOW_CONTROL = 3
const STREAM_WINDOW = 256 * 1024
const PIECE = Buffer.alloc(16_384)

let rig: Http2Rig
let client: RawClient

beforeEach(async () => {
  // The only connection to the application is taken by a request that is never answered: the others wait, with their
  // content.
  const limits = { upstreamConnections: 1, callerSharePercent: 100 }
  const app: AppListener = request => request.resume()
  rig = await startHttp2Rig("http/1.1", app, { limits })
  client = new RawClient(rig.rig.port)
  client.send(headersFrame(1))
  await client.frame(({ type }) => type === FRAME.settings)
})
afterEach(async () => {
  client.socket.destroy()
  await rig.stop()
})

const POST = [[":method", "POST"] as const, ...GET.slice(1)]

function upload(stream: number, bytes: number): void {
  client.send(headersFrame(stream, POST, END_HEADERS))
  for (let sent = 0; sent < bytes; sent += PIECE.length) client.send(frame(FRAME.data, 0, stream, PIECE))
}

it("resets a stream that exceeds its window", async () => {
  upload(3, STREAM_WINDOW)
  upload(5, STREAM_WINDOW + 1)
  const reset = await client.frame(({ type }) => type === FRAME.reset || type === FRAME.goaway)
  expect(reset).toMatchObject({ type: FRAME.reset, stream: 5 })
  expect(reset?.payload.readUInt32BE(0)).toBe(FLOW_CONTROL)
})

it("ends a connection whose streams exceed its window", async () => {
  for (const stream of [3, 5, 7, 9, 11]) upload(stream, STREAM_WINDOW)
  const goaway = await client.frame(({ type }) => type === FRAME.reset || type === FRAME.goaway)
  expect(goaway?.type).toBe(FRAME.goaway)
  expect(goaway?.payload.readUInt32BE(4)).toBe(FLOW_CONTROL)
})

it("returns the window of a stream that was reset to the connection", async () => {
  for (const stream of [3, 5, 7, 9, 11]) {
    upload(stream, STREAM_WINDOW)
    client.send(frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8])))
  }
  client.send(frame(FRAME.ping, 0, 0, Buffer.from("the last")))
  const answer = await client.frame(({ type, flags }) => type === FRAME.goaway || (type === FRAME.ping && flags === 1))
  expect(answer?.type).toBe(FRAME.ping)
})
