// SPDX-License-Identifier: Apache-2.0
// A client that sends requests and reads no response: pending output is in the kernel and in one bounded queue,
// whatever the response is. Once the client reads, it gets all of it.

import { connect, type Socket } from "node:net"
import { afterEach, expect, test } from "vitest"
import { authorization } from "../accept/testing/rig.js"
import { type AppListener, type Http2Rig, startHttp2Rig } from "../http2/testing/http2-rig.js"
import { END_HEADERS, END_STREAM, FRAME, frame, headersFrame, PREFACE } from "../http2/testing/raw-client.js"

/** The responses to this many requests do not fit the kernel's buffers. */
const REQUESTS = 30_000
const BATCH = 500

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Different in each request, so that a header table does not compress it. */
const pathOf = (index: number): string => `/${String(index).padStart(250, "0")}`

const http1Request = (index: number): Buffer =>
  Buffer.from(`HEAD ${pathOf(index)} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n`)

const http2Request = (index: number): Buffer =>
  headersFrame(
    2 * index + 1,
    [
      [":method", "HEAD"],
      [":scheme", "http"],
      [":path", pathOf(index)],
      [":authority", "a"],
      ["authorization", "Bearer x"],
    ],
    END_STREAM | END_HEADERS,
  )

/** An application that receives nothing, because every request is rejected before. */
const UNREACHED: AppListener = (_, response) => response.end()

async function start(): Promise<{ readonly rig: Http2Rig; readonly socket: Socket }> {
  const rig = await startHttp2Rig("http/1.1", UNREACHED, {
    policies: [
      {
        apiVersion: "security.merlon.dev/v1alpha3",
        kind: "RequestAuthentication",
        metadata: { name: "tokens", namespace: "shop" },
        spec: { jwtRules: [{ issuer: "https://issuer.example", jwks: '{"keys":[]}' }] },
      },
      authorization("open", { rules: [{}] }),
    ],
  })
  cleanups.push(() => rig.stop())
  const socket = connect({ host: "127.0.0.1", port: rig.rig.port }).on("error", () => undefined)
  socket.pause()
  cleanups.push(() => socket.destroy())
  return { rig, socket }
}

test.each([
  ["HTTP/1.1", Buffer.alloc(0), http1Request],
  ["HTTP/2", Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), frame(FRAME.settings, 1, 0)]), http2Request],
])("over %s", async (_, preface, request) => {
  const { rig, socket } = await start()
  const { records } = rig.rig.meters
  socket.write(preface)
  for (let index = 0; index < REQUESTS; index += BATCH) {
    socket.write(Buffer.concat(Array.from({ length: BATCH }, (__, at) => request(index + at))))
  }
  let before = -1
  // Waits until nothing is transferred any more.
  while (before !== records.length) {
    before = records.length
    for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setTimeout(resolve, 2))
  }
  expect(records.length).toBeLessThan(REQUESTS)
  socket.resume()
  await rig.rig.meters.until(meters => meters.records.length === REQUESTS)
  expect(records.every(({ status }) => status === 401)).toBe(true)
})
