// SPDX-License-Identifier: Apache-2.0
// WebSockets over HTTP/2 (RFC 8441) to an application that supports them over HTTP/1.1 only.

import { createHash } from "node:crypto"
import { once } from "node:events"
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2"
import type { Socket } from "node:net"
import { eventually } from "@merlon/wire/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { authorization } from "../accept/testing/rig.js"
import { type AppListener, type Http2Rig, startHttp2Rig } from "./testing/http2-rig.js"

const ACCEPT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
let rig: Http2Rig
let seen: string[]

const deny = authorization("no-admin", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/admin"] } }] }] })

beforeEach(async () => {
  seen = []
  const app: AppListener = (_, response) => {
    response.end("no switch")
  }
  rig = await startHttp2Rig("http/1.1", app, { policies: [deny] })
  rig.app.on("upgrade", (request, socket) => {
    const key = String(request.headers["sec-websocket-key"])
    seen.push(`${request.method} ${request.url} ${request.headers.upgrade}`)
    expect(key).toMatch(/^[A-Za-z0-9+/]{22}==$/)
    const accept = createHash("sha1")
      .update(key + ACCEPT)
      .digest("base64")
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: chat\r\n\r\n`,
    )
    socket.pipe(socket)
  })
})
afterEach(() => rig.stop())

async function ready(): Promise<ClientHttp2Session> {
  const session = rig.connect()
  await once(session, "remoteSettings")
  expect(session.remoteSettings.enableConnectProtocol).toBe(true)
  return session
}

const asked = (path: string, protocol = "websocket") => ({
  ":method": "CONNECT",
  ":protocol": protocol,
  ":scheme": "http",
  ":path": path,
  "sec-websocket-version": "13",
})

it("switches, carries both directions, and ends with either side", async () => {
  const stream = (await ready()).request(asked("/chat"))
  const [headers] = await once(stream, "response")
  expect(headers).toMatchObject({ ":status": 200, "sec-websocket-protocol": "chat" })
  expect(headers["sec-websocket-accept"]).toBeUndefined()
  stream.write("hello")
  expect(String((await once(stream, "data"))[0])).toBe("hello")
  stream.end()
  await once(stream.resume(), "close")
  expect(seen).toEqual(["GET /chat websocket"])
  await rig.rig.meters.until(meters => meters.records.length === 1)
  expect(rig.rig.meters.records[0]).toMatchObject({ method: "GET", path: "/chat", status: 101 })
})

it("is judged like an upgrade", async () => {
  const stream = (await ready()).request(asked("/admin"))
  const [headers] = await once(stream, "response")
  expect(headers[":status"]).toBe(403)
  stream.close()
  expect(seen).toEqual([])
})

it("is rejected if the protocol is not allowed", async () => {
  const stream = (await ready()).request(asked("/chat", "connect-udp"))
  const [headers] = await once(stream, "response")
  expect(headers[":status"]).toBe(403)
  expect(seen).toEqual([])
})

it("ends for the application when the client cancels it", async () => {
  let over = (): void => undefined
  const closed = new Promise<void>(resolve => {
    over = resolve
  })
  rig.app.on("upgrade", (_, socket) => socket.once("close", over))
  const stream = (await ready()).request(asked("/chat"))
  await once(stream, "response")
  stream.close(constants.NGHTTP2_CANCEL)
  await closed
})

describe("early bytes of a client", () => {
  let received: string
  let answer: () => void
  let ended: Promise<unknown>

  /** The application receives a request and answers it when the test calls `answer`. */
  async function start(reply: string): Promise<void> {
    received = ""
    rig.app.removeAllListeners("upgrade").removeAllListeners("connection")
    ended = new Promise(resolve => {
      rig.app.on("connection", (socket: Socket) => {
        answer = () => socket.write(reply)
        socket
          .on("error", () => undefined)
          .on("data", data => {
            received += data.toString("latin1")
          })
        socket.once("close", resolve).once("end", resolve)
      })
    })
  }

  /** Waits until the proxy has read everything that was sent before. */
  async function early(session: ClientHttp2Session, sent: (stream: ClientHttp2Stream) => void) {
    const stream = session.request(asked("/chat")).on("error", () => undefined)
    sent(stream)
    await eventually(() => received.includes("\r\n\r\n"), { state: () => JSON.stringify(received) })
    await new Promise<void>(resolve => session.ping(() => resolve()))
    return stream
  }

  const SMUGGLED = "POST /admin HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"

  it("never reach an application that does not switch, which would read them as a request", async () => {
    await start("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
    const stream = await early(await ready(), open => open.write(SMUGGLED))
    answer()
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(404)
    await ended
    expect(received).toMatch(/^GET \/chat HTTP\/1.1\r\n/)
    expect(received).not.toContain("/admin")
  })

  it("occupy no slot of an application that does not answer in time", async () => {
    await rig.stop()
    rig = await startHttp2Rig("http/1.1", () => undefined, { limits: { responseTimeoutMs: 40 } })
    await start("")
    const stream = (await ready()).request(asked("/chat")).on("error", () => undefined)
    stream.write("early")
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(504)
    await ended
  })

  it("occupy no slot of an HTTP/2 application that does not answer in time", async () => {
    await rig.stop()
    const settings = { enableConnectProtocol: true }
    rig = await startHttp2Rig("h2c", () => undefined, { raw: true, settings, limits: { responseTimeoutMs: 40 } })
    const stream = (await ready()).request(asked("/chat")).on("error", () => undefined)
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(504)
  })

  it("arrive after the switch, with the end of the stream", async () => {
    await start("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    const stream = await early(await ready(), open => open.end("early"))
    answer()
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(200)
    await ended
    expect(received).toMatch(/\r\n\r\nearly$/)
  })

  it("may fill the window, and continue from there", async () => {
    await start("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    const stream = await early(await ready(), open => open.end(Buffer.alloc(1_000_000, "x")))
    answer()
    await once(stream, "response")
    await ended
    expect(received.split("\r\n\r\n")[1]).toHaveLength(1_000_000)
  })
})

it("is rejected if the protocol is HTTP again, and does not reach the application", async () => {
  let requests = 0
  rig.app.on("request", () => requests++)
  for (const protocol of ["h2c", "HTTP/1.1", "TLS/1.3"]) {
    const stream = (await ready()).request(asked("/chat", protocol))
    const [headers] = await once(stream, "response")
    expect(headers[":status"]).toBe(403)
  }
  expect(requests).toBe(0)
})
