// SPDX-License-Identifier: Apache-2.0
// WebSockets over HTTP/2 (RFC 8441) to an application that knows them by HTTP/1.1 alone.

import { createHash } from "node:crypto"
import { once } from "node:events"
import { type ClientHttp2Session, constants } from "node:http2"
import { afterEach, beforeEach, expect, it } from "vitest"
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

it("switches, carries both ways, and ends with either side", async () => {
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

it("is judged like the upgrade it is", async () => {
  const stream = (await ready()).request(asked("/admin"))
  const [headers] = await once(stream, "response")
  expect(headers[":status"]).toBe(403)
  stream.close()
  expect(seen).toEqual([])
})

it("is refused where the protocol is none that may be switched to", async () => {
  const stream = (await ready()).request(asked("/chat", "connect-udp"))
  const [headers] = await once(stream, "response")
  expect(headers[":status"]).toBe(403)
  expect(seen).toEqual([])
})

it("ends for the application when the client throws it away", async () => {
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
