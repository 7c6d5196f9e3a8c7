// SPDX-License-Identifier: Apache-2.0
// A client with closed windows may open all of them at once by SETTINGS instead of one by one (RFC 9113 section 6.9.2),
// and then gets the pending content. If it never opens one, its connection is closed.

import type { ServerResponse } from "node:http"
import { afterEach, expect, it } from "vitest"
import { authorization } from "../accept/testing/rig.js"
import { type AppListener, startHttp2Rig } from "./testing/http2-rig.js"
import { FRAME, frame, headersFrame, RawClient, uint32 } from "./testing/raw-client.js"

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** SETTINGS_INITIAL_WINDOW_SIZE. */
const windows = (size: number): Buffer =>
  frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(size)]))

it.each(["http/1.1", "h2c"] as const)(
  "sends the caller the response of an application of %s after it opened its windows",
  async speaks => {
    let answer: ServerResponse | undefined
    const app: AppListener = (_, response) => {
      answer = response
      response.flushHeaders()
    }
    const rig = await startHttp2Rig(speaks, app)
    closing.push(() => rig.stop())
    const client = new RawClient(rig.rig.port)
    closing.push(() => client.socket.destroy())
    client.send(windows(0), headersFrame(1))
    await client.frame(({ type }) => type === FRAME.headers)
    client.send(windows(65_535), frame(FRAME.ping, 0, 0, Buffer.from("heard it")))
    await client.frame(({ type }) => type === FRAME.ping)
    answer?.end("late")
    const data = await client.frame(({ type }) => type === FRAME.data)
    expect(data?.payload.toString()).toBe("late")
  },
)

it.each(["http/1.1", "h2c"] as const)(
  "stops waiting for a caller that opens no window, after an application of %s has sent content",
  async speaks => {
    let answer: ServerResponse | undefined
    const app: AppListener = (_, response) => {
      answer = response
      response.flushHeaders()
    }
    const rig = await startHttp2Rig(speaks, app, { limits: { bodyIdleTimeoutMs: 500 } })
    closing.push(() => rig.stop())
    const client = new RawClient(rig.rig.port)
    closing.push(() => client.socket.destroy())
    client.socket.on("data", () => {
      // The client is alive and answers pings.
      const asked = client.frames.filter(({ type, flags }) => type === FRAME.ping && flags === 0)
      client.send(...asked.map(({ payload }) => frame(FRAME.ping, 1, 0, payload)))
    })
    client.send(windows(0), headersFrame(1))
    await client.frame(({ type }) => type === FRAME.headers)
    answer?.end("never taken")
    const reset = await client.frame(({ type }) => type === FRAME.reset || type === FRAME.goaway)
    expect(reset).toMatchObject({ type: FRAME.reset, stream: 1 })
  },
)

it("stops waiting for a caller that opens no window for a denial", async () => {
  const limits = { bodyIdleTimeoutMs: 500 }
  const rig = await startHttp2Rig("http/1.1", () => undefined, { limits, policies: [authorization("nobody", {})] })
  closing.push(() => rig.stop())
  const client = new RawClient(rig.rig.port)
  closing.push(() => client.socket.destroy())
  client.socket.on("data", () => {
    const asked = client.frames.filter(({ type, flags }) => type === FRAME.ping && flags === 0)
    client.send(...asked.map(({ payload }) => frame(FRAME.ping, 1, 0, payload)))
  })
  client.send(windows(0), headersFrame(1))
  const reset = await client.frame(({ type }) => type === FRAME.reset || type === FRAME.goaway)
  expect(reset).toMatchObject({ type: FRAME.reset, stream: 1 })
  expect(client.frames.filter(({ type }) => type === FRAME.headers)).toHaveLength(1)
  expect(rig.rig.meters.records).toMatchObject([{ status: 403 }])
})
