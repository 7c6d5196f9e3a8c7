// SPDX-License-Identifier: Apache-2.0
// WebSockets to an application that accepts them over HTTP/2 (RFC 8441), whichever version the caller uses.

import { once } from "node:events"
import { get } from "node:http"
import type { ClientHttp2Session, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2"
import type { Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { authorization } from "../accept/testing/rig.js"
import { type Http2Rig, startHttp2Rig } from "./testing/http2-rig.js"

/** The example of RFC 6455 section 1.3. */
const KEY = "dGhlIHNhbXBsZSBub25jZQ=="
const ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

const deny = authorization("no-admin", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin"] } }] }] })

let rig: Http2Rig
let asked: IncomingHttpHeaders[]
/** Resolves when the application's side of a tunnel has closed. */
let gone: Promise<void>
afterEach(() => rig.stop())

async function start(enableConnectProtocol: boolean): Promise<void> {
  asked = []
  let notify = (): void => undefined
  gone = new Promise(resolve => {
    notify = resolve
  })
  const app = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    asked.push(headers)
    stream.on("error", () => undefined).once("close", notify)
    if (headers[":path"] === "/closed") {
      stream.respond({ ":status": 403 })
      stream.end("not here")
      return
    }
    stream.respond({ ":status": 200, "sec-websocket-protocol": "chat" })
    if (headers[":method"] === "CONNECT") stream.pipe(stream)
    else stream.end("no switch")
  }
  rig = await startHttp2Rig("h2c", app, { policies: [deny], raw: true, settings: { enableConnectProtocol } })
}

async function session(): Promise<ClientHttp2Session> {
  const opened = rig.connect()
  await once(opened, "remoteSettings")
  expect(opened.remoteSettings.enableConnectProtocol).toBe(true)
  return opened
}

const connect = (path: string) => ({
  ":method": "CONNECT",
  ":protocol": "websocket",
  ":scheme": "http",
  ":path": path,
  "sec-websocket-version": "13",
})

/** The result for an HTTP/1.1 caller: an upgraded connection, or the status of another response. */
function upgrade(path: string): Promise<{ status: number; accept: string | undefined; socket: Socket | undefined }> {
  return new Promise((resolve, reject) => {
    const headers = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-key": KEY }
    get({ host: "127.0.0.1", port: rig.rig.port, path, headers, agent: false }, answer => {
      answer.resume()
      resolve({ status: answer.statusCode ?? 0, accept: undefined, socket: undefined })
    })
      .on("upgrade", ({ statusCode = 0, headers: received }, socket) => {
        expect(received).toMatchObject({
          connection: "upgrade",
          upgrade: "websocket",
          "sec-websocket-protocol": "chat",
        })
        resolve({ status: statusCode, accept: received["sec-websocket-accept"], socket })
      })
      .on("error", reject)
  })
}

describe("an application that supports it gets a tunnel", () => {
  it("from a caller over HTTP/2, with its early bytes first", async () => {
    await start(true)
    // The first request on its connection, so the application's SETTINGS are not known yet.
    const stream = (await session()).request(connect("/chat"))
    stream.write("early ")
    const [headers] = await once(stream, "response")
    expect(headers).toMatchObject({ ":status": 200, "sec-websocket-protocol": "chat" })
    expect(headers.upgrade ?? headers["sec-websocket-accept"]).toBeUndefined()
    stream.end("and late")
    let received = ""
    for await (const part of stream) received += String(part)
    expect(received).toBe("early and late")
    expect(asked).toMatchObject([{ ":method": "CONNECT", ":protocol": "websocket", ":path": "/chat" }])
    await rig.rig.meters.until(meters => meters.records.length === 1)
    expect(rig.rig.meters.records[0]).toMatchObject({ method: "GET", path: "/chat", status: 101, bytesReceived: 14 })
  })

  it("from a caller over HTTP/1.1, whose challenge the proxy answers", async () => {
    await start(true)
    for (let time = 0; time < 2; time++) {
      const { status, accept, socket } = await upgrade("/chat")
      expect([status, accept]).toEqual([101, ACCEPT])
      socket?.write("hello")
      expect(String((await once(socket ?? rig.app, "data"))[0])).toBe("hello")
      socket?.end()
      await once(socket ?? rig.app, "close")
    }
    expect(asked).toHaveLength(2)
    for (const headers of asked) {
      expect(headers).toMatchObject({
        ":method": "CONNECT",
        ":protocol": "websocket",
        ":authority": expect.any(String),
      })
      expect(headers["sec-websocket-key"] ?? headers.upgrade ?? headers.connection).toBeUndefined()
    }
    await rig.rig.meters.until(meters => meters.records.length === 2)
  })

  it("and is told when the caller cancels it", async () => {
    await start(true)
    const stream = (await session()).request(connect("/chat"))
    await once(stream, "response")
    stream.close(8)
    await gone
  })

  it("and may reject it with its own response", async () => {
    await start(true)
    expect((await upgrade("/closed")).status).toBe(403)
    const stream = (await session()).request(connect("/closed"))
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(403)
    expect(String((await once(stream, "data"))[0])).toBe("not here")
  })

  it("but not if a policy denies the request, or the protocol is not configured", async () => {
    await start(true)
    expect((await upgrade("/admin")).status).toBe(403)
    const stream = (await session()).request({ ...connect("/chat"), ":protocol": "connect-udp" })
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(403)
    expect(asked).toEqual([])
  })
})

describe("an application that does not support it", () => {
  it("answers the request itself, which over HTTP/2 must not look like a tunnel", async () => {
    await start(false)
    expect((await upgrade("/chat")).status).toBe(200)
    const stream = (await session()).request(connect("/chat"))
    stream.write("early")
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(502)
    expect(asked.map(({ ":method": method }) => method)).toEqual(["GET", "GET"])
  })
})

it("reports to the caller that the application is down", async () => {
  await start(true)
  await new Promise(resolve => rig.app.close(resolve))
  expect((await upgrade("/chat")).status).toBe(503)
  const stream = (await session()).request(connect("/chat"))
  const [headers] = await once(stream, "response")
  expect(headers[":status"]).toBe(503)
})
