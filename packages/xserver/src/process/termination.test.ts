// SPDX-License-Identifier: Apache-2.0
// While a Pod terminates, callers are sent elsewhere and none of their requests is lost.
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2"
import { type AddressInfo, connect, type Socket } from "node:net"
import { meshConfig } from "@merlon/policy/mesh"
import { eventually } from "@merlon/wire/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { DEFAULT_LIMITS } from "../limits.js"
import { LocalDataPath } from "./local-data-path.js"

/** Responses to `/held`, which the test ends. */
const held: ServerResponse[] = []
const application = createServer((incoming, reply) => {
  if (incoming.url === "/held") held.push(reply.writeHead(200, { "content-length": 2 }))
  else reply.end("ok")
})
let path: LocalDataPath
const opened: { destroy(): void }[] = []

beforeEach(async () => {
  application.listen(0, "127.0.0.1")
  await once(application, "listening")
  path = new LocalDataPath({ mesh: "merlon", limits: { ...DEFAULT_LIMITS, drainTimeoutMs: 1 }, accessLog: "off" })
  await path.apply({
    revision: 1,
    mesh: meshConfig(),
    workload: { namespace: "foo", name: "a", serviceAccount: "default", labels: {} },
    ports: [
      {
        port: 8080,
        listen: { host: "127.0.0.1", port: 0 },
        upstream: { host: "127.0.0.1", port: (application.address() as AddressInfo).port }, // a TCP server
        protocol: "http",
        upstreamProtocol: "http/1.1",
        serviceNames: [],
      },
    ],
    policies: [],
    keySets: {},
    tls: undefined,
    revocations: { identities: [], serials: [] },
    probes: {},
  })
})
afterEach(async () => {
  held.length = 0
  for (const connection of opened.splice(0)) connection.destroy()
  await path.drain()
  application.closeAllConnections()
  application.close()
})

const port = () => path.addresses()[0]?.port ?? 0

describe("an HTTP/1.1 connection", () => {
  function dial(): { readonly socket: Socket; readonly says: (pattern: RegExp) => Promise<string> } {
    const socket = connect({ host: "127.0.0.1", port: port() })
    opened.push(socket.on("error", () => undefined))
    let text = ""
    socket.on("data", chunk => {
      text += String(chunk)
    })
    const says = async (pattern: RegExp) => {
      await eventually(() => pattern.test(text), {
        what: `the connection says ${pattern}`,
        state: () => JSON.stringify(text),
        change: signal => once(socket, "data", { signal }),
      })
      const result = text
      text = ""
      return result
    }
    return { socket, says }
  }
  const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  it.each(["before", "while"])("opened %s it drains is answered once more, told to close, and closed", async when => {
    if (when === "while") await path.startDraining()
    const { socket, says } = dial()
    if (when === "before") {
      socket.write(GET)
      expect(await says(/ok$/)).not.toMatch(/connection: close/i)
      await path.startDraining()
    }
    socket.write(GET)
    expect(await says(/ok$/)).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*connection: close/i)
    await once(socket, "close")
  })

  it("that was promised another request before it drains gets a response to it", async () => {
    const { socket, says } = dial()
    socket.write("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
    await eventually(() => held.length > 0, { change: signal => once(application, "request", { signal }) })
    held[0]?.write("o")
    expect(await says(/o$/)).not.toMatch(/connection: close/i)
    await path.startDraining()
    held[0]?.end("k")
    await says(/k$/)
    socket.write(GET)
    expect(await says(/ok$/)).toMatch(/connection: close/i)
    await once(socket, "close")
  })

  it("gets a response to every pipelined request", async () => {
    const { socket, says } = dial()
    await path.startDraining()
    socket.write(GET + GET + GET)
    const result = await says(/close[\s\S]*ok$/)
    expect(result.match(/200 OK/g)).toHaveLength(3)
    expect(result.match(/connection: close/gi)).toHaveLength(1)
  })

  it("that is idle is closed", async () => {
    const { socket, says } = dial()
    socket.write(GET)
    await says(/ok$/)
    await path.startDraining()
    await once(socket, "close")
  })
})

describe("an HTTP/2 connection", () => {
  function dial(): ClientHttp2Session {
    const session = connectHttp2(`http://127.0.0.1:${port()}`)
    opened.push(session.on("error", () => undefined))
    return session
  }
  async function status(session: ClientHttp2Session): Promise<unknown> {
    const [headers] = await once(session.request({ ":path": "/" }).resume(), "response")
    return headers[":status"]
  }

  it.each(["before", "while"])("opened %s it drains is served, gets a GOAWAY, and is closed", async when => {
    if (when === "while") await path.startDraining()
    const session = dial()
    const received = once(session, "goaway")
    if (when === "before") {
      expect(await status(session)).toBe(200)
      // Sent before the client can know of the drain, so it must not be lost.
      const [last] = await Promise.all([status(session), path.startDraining()])
      expect(last).toBe(200)
    } else {
      expect(await status(session)).toBe(200)
    }
    expect((await received)[0]).toBe(0)
    await once(session, "close")
  })

  it("that is idle gets a GOAWAY, and is closed", async () => {
    const session = dial()
    expect(await status(session)).toBe(200)
    const received = once(session, "goaway")
    await path.startDraining()
    expect((await received)[0]).toBe(0)
    await once(session, "close")
  })
})
