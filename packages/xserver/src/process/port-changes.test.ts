// SPDX-License-Identifier: Apache-2.0
// Open connections across changes of their port: all continue, except those of a protocol that the port no longer has.
import { once } from "node:events"
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http"
import { connect as connectHttp2, createServer as createHttp2 } from "node:http2"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { meshConfig } from "@merlon/policy/mesh"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { ApplicationPort } from "../config/application-port.js"
import { DEFAULT_LIMITS } from "../limits.js"
import { LocalDataPath } from "./local-data-path.js"

type Listening = Server | ReturnType<typeof createHttp2>
const portOf = (server: Listening) => (server.address() as AddressInfo).port // all of them are TCP servers

/** `/echo` echoes the request's content as it arrives; every other path returns the server's name. */
const answering = (name: string) => (incoming: IncomingMessage, reply: ServerResponse) => {
  if (incoming.url === "/echo") incoming.pipe(reply)
  else reply.end(name)
}
const http = createHttp(answering("first"))
const second = createHttp(answering("second"))
const h2c = createHttp2((_, reply) => reply.end("h2c"))
http.on("upgrade", ({ headers }, socket: Socket) => {
  socket.on("error", () => undefined)
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\n\r\n`)
  socket.pipe(socket)
})
const tcp = createServer(socket => socket.on("error", () => undefined).pipe(socket))
const servers: readonly Listening[] = [http, second, h2c, tcp]

let path: LocalDataPath
let revision = 0
const opened: { destroy(): void }[] = []

beforeEach(async () => {
  for (const server of servers) {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  }
  path = new LocalDataPath({ mesh: "merlon", limits: { ...DEFAULT_LIMITS, drainTimeoutMs: 1 }, accessLog: "off" })
  await apply({})
})
afterEach(async () => {
  for (const connection of opened.splice(0)) connection.destroy()
  await path.drain()
  for (const server of [http, second]) server.closeAllConnections()
  for (const server of servers) server.close()
})

type PortChange = Partial<Omit<ApplicationPort, "port" | "listen">>

/** Applies a configuration with ports 8080 (HTTP) and 9000 (TCP) and these changes to both. */
async function apply(change: PortChange, labels = {}, others: readonly ApplicationPort[] = []): Promise<void> {
  const port = (number: number, protocol: ApplicationPort["protocol"], server: Listening): ApplicationPort => ({
    port: number,
    listen: { host: "127.0.0.1", port: 0 },
    upstream: { host: "127.0.0.1", port: portOf(server) },
    protocol,
    upstreamProtocol: "http/1.1",
    serviceNames: ["a"],
    upgrades: ["own"],
    ...change,
  })
  await path.apply({
    revision: ++revision,
    mesh: meshConfig(),
    workload: { namespace: "foo", name: "a", serviceAccount: "default", labels },
    ports: [...others, port(8080, "auto", http), port(9000, "tcp", tcp)],
    policies: [],
    keySets: {},
    tls: undefined,
    revocations: { identities: [], serials: [] },
    probes: {},
  })
}

/** Sends a word over an open connection and waits for the answer. */
type Ask = (word: string) => Promise<string>
interface Open {
  readonly ask: Ask
  readonly gone: Promise<unknown>
}

function dial(which: 0 | 1): Socket {
  const socket = connect({ host: "127.0.0.1", port: path.addresses()[which]?.port ?? 0 })
  opened.push(socket.on("error", () => undefined))
  return socket
}

/** Rejects if the connection ends before the answer. */
async function nextChunk(socket: Socket): Promise<string> {
  const ended = new AbortController()
  const onEnd = () => ended.abort(new Error("the connection ended"))
  socket.once("end", onEnd).once("close", onEnd)
  const limit = setTimeout(() => ended.abort(new Error("timed out after 100 s waiting for data")), 100_000)
  try {
    const [chunk] = await once(socket, "data", { signal: ended.signal })
    return String(chunk)
  } finally {
    clearTimeout(limit)
    socket.off("end", onEnd).off("close", onEnd)
  }
}

function echoing(socket: Socket): Open {
  const ask: Ask = async word => {
    const answer = nextChunk(socket)
    socket.write(word)
    return await answer
  }
  return { ask, gone: once(socket, "close") }
}

async function keepAlive(): Promise<Open> {
  const socket = dial(0)
  const ask: Ask = async word => {
    let text = ""
    socket.write(`GET /${word} HTTP/1.1\r\nHost: a\r\n\r\n`)
    while (!/\r\n\r\n.*(first|second|h2c)/s.test(text)) text += await nextChunk(socket)
    return text.startsWith("HTTP/1.1 200 ") ? word : text
  }
  return { ask, gone: once(socket, "close") }
}

const upgradeTo = (protocol: string) => async (): Promise<Open> => {
  const socket = dial(0)
  const answer = nextChunk(socket)
  socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
  expect(await answer).toContain("HTTP/1.1 101")
  return echoing(socket)
}

async function http2Stream(): Promise<Open> {
  const session = connectHttp2(`http://127.0.0.1:${path.addresses()[0]?.port}`)
  opened.push(session.on("error", () => undefined))
  const stream = session.request({ ":method": "POST", ":path": "/echo" })
  stream.on("error", () => undefined)
  const ask: Ask = async word => {
    stream.write(word)
    const [chunk] = await once(stream, "data")
    return String(chunk)
  }
  return { ask, gone: once(stream, "close") }
}

const CONNECTIONS: readonly (readonly [string, () => Promise<Open>])[] = [
  ["a keep-alive connection", keepAlive],
  ["an HTTP/2 stream", http2Stream],
  ["a WebSocket", upgradeTo("websocket")],
  ["a TCP connection", async () => echoing(dial(1))],
]
const beside: ApplicationPort = {
  port: 7000,
  listen: { host: "127.0.0.1", port: 0 },
  upstream: { host: "127.0.0.1", port: 7000 },
  protocol: "http",
  upstreamProtocol: "http/1.1",
  serviceNames: [],
}
const CHANGES: readonly (readonly [string, () => Promise<void>])[] = [
  ["a Service is added or renamed", () => apply({ serviceNames: ["b", "b.foo"] })],
  ["the labels of the workload change", () => apply({}, { version: "v2" })],
  ["a port is added beside it", () => apply({}, {}, [beside])],
  ["further upgrades are allowed", () => apply({ upgrades: ["own", "another"] })],
  ["the application moves", () => apply({ upstream: { host: "127.0.0.1", port: portOf(second) } })],
]

describe.each(CONNECTIONS)("%s", (_, open) => {
  it.each(CHANGES)("continues when %s", async (_change, change) => {
    const { ask } = await open()
    expect(await ask("before")).toBe("before")
    await change()
    expect(await ask("after")).toBe("after")
  })
})

describe("a change", () => {
  it("sends further requests to the application's new address and HTTP version", async () => {
    const socket = dial(0)
    const answered = async (name: string) => {
      let text = ""
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      while (!text.includes(name)) text += await nextChunk(socket)
    }
    await answered("first")
    await apply({ upstream: { host: "127.0.0.1", port: portOf(second) } })
    await answered("second")
    await apply({ upstream: { host: "127.0.0.1", port: portOf(h2c) }, upstreamProtocol: "h2c" })
    await answered("h2c")
  })

  it("ends a tunnel of a protocol that is no longer allowed, and no other", async () => {
    const [own, webSocket] = [await upgradeTo("own")(), await upgradeTo("websocket")()]
    await apply({ upgrades: [] })
    await own.gone
    expect(await webSocket.ask("after")).toBe("after")
  })

  it.each(["http", "auto"] as const)("keeps HTTP and ends TCP on ports that become `%s`", async protocol => {
    const [http1, http2, bytes] = [await keepAlive(), await http2Stream(), echoing(dial(1))]
    for (const { ask } of [http1, http2, bytes]) expect(await ask("before")).toBe("before")
    await apply({ protocol })
    await bytes.gone
    for (const { ask } of [http1, http2]) expect(await ask("after")).toBe("after")
  })

  it("keeps TCP and ends HTTP on ports that become `tcp`", async () => {
    const [http1, webSocket, bytes] = [await keepAlive(), await upgradeTo("websocket")(), echoing(dial(1))]
    for (const { ask } of [http1, webSocket, bytes]) expect(await ask("before")).toBe("before")
    await apply({ protocol: "tcp" })
    await Promise.all([http1.gone, webSocket.gone])
    expect(await bytes.ask("after")).toBe("after")
  })

  it("ends a connection that has sent nothing if the protocol changes", async () => {
    const socket = dial(0)
    await once(socket, "connect")
    await apply({ protocol: "http" })
    await once(socket.resume(), "close")
    const { ask } = await keepAlive()
    expect(await ask("after")).toBe("after")
  })
})
