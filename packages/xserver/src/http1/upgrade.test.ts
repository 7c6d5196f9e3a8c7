// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { createServer } from "node:http"
import type { Socket } from "node:net"
import { eventually } from "@merlon/wire/testing"
import { afterEach, expect, it, test } from "vitest"
import { WebSocket, WebSocketServer } from "ws"
import { Rig, type RigOptions } from "./testing/rig.js"

let rig: Rig
afterEach(() => rig.stop())

const start = async (options: RigOptions = {}): Promise<void> => {
  rig = await Rig.start(options)
}

const UPGRADE = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

/** Switches the protocol, then calls `then`. */
const switching = (then: (socket: Socket) => void) => (socket: Socket) =>
  socket.once("data", () => {
    socket.write(SWITCH)
    then(socket)
  })

it("carries WebSockets in both directions", async () => {
  await start()
  const sockets = new WebSocketServer({ noServer: true })
  rig.application.on("upgrade", (incoming, socket, head) => {
    sockets.handleUpgrade(incoming, socket, head, peer =>
      peer.on("message", (data, binary) => peer.send(data, { binary })),
    )
  })
  const client = new WebSocket(`ws://127.0.0.1:${rig.port}/chat`)
  await once(client, "open")
  for (const size of [1, 1_000, 100_000, 3_000_000]) {
    const sent = Buffer.alloc(size, size % 251)
    client.send(sent)
    const [received] = await once(client, "message")
    expect(Buffer.compare(sent, received)).toBe(0)
  }
  client.close(1000, "bye")
  const [code] = await once(client, "close")
  expect(code).toBe(1000)
  await eventually(() => rig.connections.size === 0 && rig.upstream.connections === 0)
  expect(rig.meters.records).toMatchObject([{ status: 101, path: "/chat" }])
  expect(rig.meters.records[0]?.bytesReceived).toBeGreaterThan(3_000_000)
})

it("forwards what the client sent before the switch, and what came with it", async () => {
  await start({
    raw: switching(socket => {
      socket.write("hello")
      socket.on("data", data => socket.write(`<${data.toString()}>`))
    }),
  })
  const client = await rig.client()
  client.send(`${UPGRADE}early`)
  await client.until(({ received }) => received.includes("<early>"))
  expect(client.received).toMatch(
    /^HTTP\/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nconnection: upgrade\r\n\r\nhello<early>$/,
  )
})

test.each([
  ["another protocol", "Upgrade: ssh\r\n"],
  ["websocket and another protocol", "Upgrade: websocket, ssh\r\n"],
  ["another protocol in a second line", "Upgrade: websocket\r\nUpgrade: ssh\r\n"],
  ["a name that only begins with websocket", "Upgrade: websocket/7\r\n"],
  ["none", ""],
])("does not tunnel a 101 that names %s", async (_, upgrade) => {
  await start({
    raw: socket =>
      socket.once("data", () => socket.write(`HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n${upgrade}\r\nsecret`)),
  })
  const client = await rig.client()
  const answer = await client.send(UPGRADE).response()
  expect(answer).toMatch(/^HTTP\/1.1 502 /)
  expect(answer).not.toContain("secret")
})

it("tunnels a 101 that names a requested protocol, in any case", async () => {
  await start({
    port: { upgrades: ["echo/1"] },
    raw: socket =>
      socket.once("data", () =>
        socket.write("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: Echo/1\r\n\r\nhello"),
      ),
  })
  const client = await rig.client()
  client.send(UPGRADE.replace("websocket", "websocket, ECHO/1"))
  await client.until(({ received }) => received.includes("hello"))
})

it("ends a tunnel when the client ends first", async () => {
  await start({
    raw: switching(socket => {
      let text = ""
      socket.on("data", data => {
        text += data.toString()
      })
      socket.on("end", () => socket.end(`got ${text}`))
    }),
  })
  const client = await rig.client()
  client.send(UPGRADE)
  await client.until(({ received }) => received.includes("101"))
  client.send("abc")
  client.socket.end()
  expect(await client.all()).toMatch(/got abc$/)
  await eventually(() => rig.connections.size === 0 && rig.upstream.connections === 0)
})

it("ends a tunnel when the application ends first", async () => {
  let text = ""
  await start({
    raw: switching(socket => {
      socket.end("bye")
      socket.on("data", data => {
        text += data.toString()
      })
    }),
  })
  const client = await rig.client()
  client.send(UPGRADE)
  expect(await client.all()).toMatch(/bye$/)
  client.send("still here")
  await eventually(() => text === "still here")
  client.socket.end()
  await eventually(() => rig.connections.size === 0 && rig.upstream.connections === 0)
})

it("ends an idle tunnel", async () => {
  await start({ raw: switching(() => undefined), limits: { tunnelIdleTimeoutMs: 40 } })
  const client = await rig.client()
  expect(await client.send(UPGRADE).all()).toMatch(/101/)
  expect(rig.meters.limits).toEqual(["tunnelIdleTimeoutMs"])
  await eventually(() => rig.upstream.connections === 0)
})

it("ends a tunnel whose client does not read long before an idle one", async () => {
  const flood = (socket: Socket): void => {
    while (socket.write(Buffer.alloc(65_536)));
  }
  await start({
    raw: switching(socket => {
      socket.on("drain", () => flood(socket))
      flood(socket)
    }),
    limits: { bodyIdleTimeoutMs: 200, tunnelIdleTimeoutMs: 3_600_000 },
  })
  const client = await rig.client()
  client.send(UPGRADE)
  await client.until(({ received }) => received.includes("101"))
  client.socket.pause()
  await eventually(() => rig.connections.size === 0 && rig.upstream.connections === 0)
  expect(rig.meters.limits).toEqual(["bodyIdleTimeoutMs"])
})

it("ends a tunnel that the mode no longer allows, and leaves it alone on shutdown", async () => {
  await start({ raw: switching(socket => socket.on("data", data => socket.write(data))) })
  const client = await rig.client()
  client.send(UPGRADE)
  await client.until(({ received }) => received.includes("101"))
  rig.connections.drainAll()
  client.send("still here")
  await client.until(({ received }) => received.includes("still here"))
  rig.connections.drainPlaintext(8080)
  await eventually(() => rig.connections.size === 0 && rig.upstream.connections === 0)
})

it("does not upgrade a caller that the mode rejects by then", async () => {
  let application: Socket | undefined
  await start({
    raw: socket =>
      socket.once("data", () => {
        application = socket
      }),
  })
  const client = await rig.client()
  client.send(UPGRADE)
  await eventually(() => application !== undefined)
  rig.connections.drainPlaintext(8080)
  application?.write(`${SWITCH}hello`)
  expect(await client.all()).not.toContain("hello")
  await eventually(() => rig.connections.size === 0 && rig.upstream.connections === 0)
})

it("reads what follows a declined switch as the next request", async () => {
  const application = createServer((incoming, reply) => reply.end(incoming.url))
  await start({ application: (incoming, reply) => application.emit("request", incoming, reply) })
  const client = await rig.client()
  client.send(`${UPGRADE}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`)
  expect(await client.response()).toMatch(/\/chat$/)
  expect(await client.response()).toMatch(/\/next$/)
})

const pending = (protocol: string) =>
  `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AA\r\n\r\n`

/** The head that the application receives; undefined if it receives none. */
async function asked(protocol: string, options: RigOptions = {}): Promise<string> {
  let seen = ""
  await start({
    ...options,
    raw: socket =>
      socket.on("data", data => {
        seen = data.toString().toLowerCase()
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      }),
  })
  const client = await rig.client()
  const answer = await client.send(pending(protocol)).response()
  expect(answer).toMatch(seen === "" ? /^HTTP\/1.1 403 Forbidden[\s\S]*x-merlon-decision: / : /^HTTP\/1.1 200 /)
  expect(seen).not.toContain("http2-settings")
  return seen
}

test.each(["h2c", "HTTP/2.0", "TLS/1.0"])("continues without a switch to %s", async protocol => {
  expect(await asked(protocol)).toMatch(/^get \/ http\/1.1\r\n(?![\s\S]*upgrade)/)
})

test.each(["spdy/3.1", "tcp", "x", "websocket2", "xwebsocket", "x, h2c"])(
  "rejects an upgrade to %s",
  async protocol => {
    expect(await asked(protocol)).toBe("")
    expect(rig.meters.records[0]).toMatchObject({ status: 403, judgement: { stage: "protocol", error: "upgrade" } })
  },
)

test.each([
  ["WebSocket", [], "websocket"],
  ["websocket, h2c, x", [], "websocket"],
  ["SPDY/3.1", ["spdy"], "spdy/3.1"],
  ["spdy/3.1", ["SPDY/3.1"], "spdy/3.1"],
  ["tcp, x", ["x"], "x"],
])("asks the application to switch to %s if the port allows %j", async (protocol, upgrades, expected) => {
  expect(await asked(protocol, { port: { upgrades } })).toContain(`upgrade: ${expected}\r\n`)
})

test.each(["h2c", "http/2.0"])("never switches to %s, even if the port allows it", async protocol => {
  expect(await asked(protocol, { port: { upgrades: [protocol] } })).not.toContain("upgrade")
})
