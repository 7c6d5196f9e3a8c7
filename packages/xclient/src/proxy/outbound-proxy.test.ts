// SPDX-License-Identifier: Apache-2.0
// The forward proxy with curl and raw sockets, as unmodified programs use it.
// @module-tag needs/curl

import { execFile } from "node:child_process"
import { once } from "node:events"
import type { RequestListener, ServerResponse } from "node:http"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { promisify } from "node:util"
import { isOwnUser } from "@merlon/xds/runtime"
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest"
import { Outbound } from "../call/outbound.js"
import { RequestCalls } from "../http/request-calls.js"
import { TestMesh, type TestServerOptions } from "../testing/mesh.js"
import { TestRoutes } from "../testing/test-routes.js"
import { OutboundProxy, type OutboundProxyOptions } from "./outbound-proxy.js"

const run = promisify(execFile)
const SILENT = { info() {}, warn() {}, error() {} }

let mesh: TestMesh
let filled: TestRoutes
let requests: RequestCalls | undefined
let proxy: OutboundProxy | undefined

beforeEach(() => {
  mesh = new TestMesh()
  filled = new TestRoutes()
})
afterEach(async () => {
  await proxy?.close(0)
  proxy = undefined
  requests?.close()
  await mesh.close()
})

async function start(options: Partial<OutboundProxyOptions> = {}): Promise<number> {
  const credentials = mesh.credentials()
  const { knownRoutes, health } = filled
  const material = () => ({ id: 1, credentials, trust: mesh.trust })
  const outbound = new Outbound({ health, material, tunnelAlpn: ["merlon"], connectTimeoutMs: 60_000 })
  requests = new RequestCalls({ mesh: "merlon", health, material, connectTimeoutMs: 60_000 })
  const calls = { knownRoutes, outbound, requests }
  proxy = new OutboundProxy({ ...calls, mesh: "merlon", allowExternal: false, log: SILENT, ...options })
  return (await proxy.listen({ host: "127.0.0.1", port: 0 })).port
}

async function web(words: TestServerOptions = {}, name = "v1") {
  const server = await mesh.server(name, words)
  await filled.set("web:80", mesh.routes([{ subset: "v1", endpoints: [server.endpoint] }]))
  return server
}

function curl(port: number, ...args: readonly string[]): Promise<string> {
  return curlAs({}, port, ...args)
}

async function curlAs(user: { readonly uid?: number }, port: number, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run("curl", ["-sS", "--max-time", "100", "-x", `http://127.0.0.1:${port}`, ...args], {
    maxBuffer: 64 * 1_048_576,
    env: { PATH: process.env.PATH ?? "" },
    ...user,
  })
  return stdout
}

describe("a program with http_proxy", () => {
  it("reaches a host of the mesh over mutual TLS", async () => {
    const server = await web()
    expect(await curl(await start(), "http://web/hello?a=b")).toBe("v1 GET /hello?a=b")
    expect(server.seen[0]).toMatchObject({ client: expect.stringContaining("consumer"), headers: { host: "web" } })
  })

  it.runIf(process.platform === "linux" && process.geteuid?.() === 0)(
    "calls as the workload only if it runs as the same user (needs root)",
    async () => {
      const server = await web()
      const port = await start({ mayCall: isOwnUser })
      const other = { uid: 54_321 }
      const status = ["-o", "/dev/null", "-w", "%{http_code} %{http_connect} %header{x-merlon-failure}"]
      expect(await curlAs(other, port, ...status, "http://web/")).toBe("403 000 other-user")
      const tunnel = curlAs(other, port, ...status, "-p", "http://web/")
      expect(await tunnel.catch((error: { readonly stdout: string }) => error.stdout)).toBe("000 403 ")
      expect(server.seen).toEqual([])
      expect(await curl(port, "http://web/1", "http://web/2")).toBe("v1 GET /1v1 GET /2")
      expect(await curl(port, "-p", "http://web/3")).toBe("v1 GET /3")
    },
  )

  it("is identified with its first request, once, and never while it is silent", async () => {
    await web()
    let asked = 0
    const port = await start({ mayCall: async () => ++asked > 0 })
    const silent = connect({ host: "127.0.0.1", port })
    onTestFinished(() => void silent.destroy())
    await once(silent, "connect")
    expect(await curl(port, "http://web/1", "http://web/2")).toBe("v1 GET /1v1 GET /2")
    expect(asked).toBe(1)
  })

  it("follows a change of weights without a new connection to the proxy", async () => {
    const [v1, v2] = [await mesh.server("v1"), await mesh.server("v2")]
    const split = (first: number, second: number) =>
      filled.set(
        "web:80",
        mesh.routes([
          { subset: "v1", weight: first, endpoints: [v1.endpoint] },
          { subset: "v2", weight: second, endpoints: [v2.endpoint] },
        ]),
      )
    const port = await start()
    await split(100, 0)
    await curl(port, "http://web/", "http://web/")
    await split(50, 50)
    await curl(port, "http://web/", "http://web/", "http://web/", "http://web/")
    expect([v1.seen.length, v2.seen.length]).toEqual([4, 2])
  })

  it("is not sent to an endpoint that fails again and again", async () => {
    const answer: RequestListener = (_, response) => response.writeHead(500).end("failed ")
    const [failing, good] = [await mesh.server("v1", { answer }), await mesh.server("v2")]
    const traffic = { loadBalancer: "ROUND_ROBIN", outlierDetection: { consecutive5xxErrors: 2 } } as const
    const endpoints = [failing.endpoint, good.endpoint]
    await filled.set("web:80", mesh.routes([{ subset: "", endpoints, cluster: { traffic } }]))
    const urls = Array.from({ length: 12 }, (_, index) => `http://web/${index}`)
    const bodies = await curl(await start(), ...urls)
    expect(bodies.split("failed ")).toHaveLength(3)
    expect([failing.seen.length, good.seen.length]).toEqual([2, 10])
  })

  it("gets 503 and the limit if too many requests are in flight", async () => {
    const held: ServerResponse[] = []
    const server = await mesh.server("v1", { answer: (_, response) => void held.push(response) })
    const traffic = { connectionPool: { maxRequests: 1 } }
    const routes = mesh.routes([{ subset: "", endpoints: [server.endpoint], cluster: { traffic } }])
    // Two names of one destination share one count.
    for (const name of ["web:80", "web.app:80"]) await filled.set(name, routes)
    const port = await start()
    const first = curl(port, "http://web/")
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1)
    expect(await curl(port, "-w", "%{http_code} %header{x-merlon-failure}", "http://web.app/")).toBe(
      "merlon: `web` is at the limit of its MeshService's connectionPool (`http2MaxRequests`)\n503 overflow",
    )
    held[0]?.end("first")
    expect(await first).toBe("first")
  })

  it("waits for a connection only as long as the MeshService allows", async () => {
    const silent = createServer(socket => socket.on("error", () => undefined))
    await once(silent.listen(0, "127.0.0.1"), "listening")
    onTestFinished(() => void silent.close())
    const { address, port: silentPort } = silent.address() as AddressInfo
    const endpoint = { address, port: silentPort, healthy: true, workload: "app/web", mtlsMode: "STRICT" as const }
    const traffic = { connectionPool: { connectTimeoutMs: 20 } }
    await filled.set("web:80", mesh.routes([{ subset: "", endpoints: [endpoint], cluster: { traffic } }]))
    expect(await curl(await start(), "-w", "%{http_code}", "http://web/")).toMatch(/no connection within 20 ms\n503$/)
  })

  it("sends and receives bodies larger than any buffer", async () => {
    await web({ answer: (request, response) => request.pipe(response) })
    const port = await start()
    const posted = run("sh", [
      "-c",
      `head -c 5000000 /dev/zero | curl -sS --max-time 100 -x http://127.0.0.1:${port} -H 'Transfer-Encoding: chunked' --data-binary @- http://web/ | wc -c`,
    ])
    expect(Number((await posted).stdout)).toBe(5_000_000)
  })

  it.each(["GET", "DELETE", "POST"])("cannot hide a second request in the body of a %s", async method => {
    const server = await web({
      answer: (request, response) => request.resume().once("end", () => response.end("only")),
    })
    const hidden = "GET /hidden HTTP/1.1\r\nHost: web\r\n\r\n"
    const port = await start()
    const headers = ["-H", "Connection: content-length", "--data-binary", hidden]
    expect(await curl(port, "-X", method, ...headers, "http://web/seen")).toBe("only")
    await curl(port, "http://web/next")
    expect(server.seen.map(({ url }) => url)).toEqual(["/seen", "/next"])
  })

  it("does not send hop-by-hop headers to the server", async () => {
    const server = await web()
    await curl(
      await start(),
      "-H",
      "Connection: x-mine",
      "-H",
      "X-Mine: 1",
      "-H",
      "Proxy-Authorization: Basic eA==",
      "http://web/",
    )
    const headers = server.seen[0]?.headers
    expect(Object.keys(headers ?? {})).not.toEqual(expect.arrayContaining(["x-mine"]))
    expect(headers).not.toHaveProperty("proxy-authorization")
    expect(headers?.via).toMatch(/merlon-xclient/)
  })

  it("receives status, repeated headers and the response to HEAD unchanged", async () => {
    await web({
      answer: (_, response) => {
        response.writeHead(418, { "set-cookie": ["a=1", "b=2"], "content-length": "2" })
        response.end("hi")
      },
    })
    const port = await start()
    const text = await curl(port, "-i", "http://web/")
    expect(text).toMatch(/^HTTP\/1.1 418/)
    expect(text.match(/set-cookie: /gi)).toHaveLength(2)
    expect(await curl(port, "-I", "http://web/")).toMatch(/content-length: 2/i)
  })

  it("tunnels to a host of the mesh by CONNECT, inside mutual TLS", async () => {
    const server = await web()
    expect(await curl(await start(), "-p", "http://web/through")).toBe("v1 GET /through")
    expect(server.seen[0]).toMatchObject({ alpn: "merlon", client: expect.stringContaining("consumer") })
  })
})

describe("a raw connection to the proxy", () => {
  const websocket = (host: string) =>
    `GET http://${host}/chat HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"

  it("keeps a WebSocket to a host of the mesh", async () => {
    await web({
      connect: (request, response) => {
        expect(request.headers).toMatchObject({ ":protocol": "websocket", ":authority": "web", ":path": "/chat" })
        response.stream.respond({ ":status": 200 })
        response.stream.pipe(response.stream)
      },
    })
    const client = await talk(await start())
    client.write(websocket("web"))
    await expect.poll(client.read).toMatch(/^HTTP\/1.1 101 [\s\S]*\r\n\r\n$/)
    client.write("frames")
    await expect.poll(client.read).toMatch(/frames$/)
  })

  it("keeps a WebSocket to a host outside of the mesh", async () => {
    let asked = ""
    const outside = createServer(socket => {
      socket.on("error", () => undefined)
      socket.on("data", chunk => {
        asked += chunk
        if (asked.endsWith("\r\n\r\n"))
          socket.write("HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
        else if (asked.endsWith("frames")) socket.end("bye")
      })
    })
    await once(outside.listen(0, "127.0.0.1"), "listening")
    const { port } = outside.address() as AddressInfo // it listens on TCP
    const client = await talk(await start({ allowExternal: true }))
    client.write(websocket(`127.0.0.1:${port}`))
    await expect.poll(client.read).toMatch(/^HTTP\/1.1 101 [\s\S]*\r\n\r\n$/)
    expect(asked).toMatch(/^GET \/chat HTTP\/1.1\r\n/)
    client.write("frames")
    await expect.poll(client.read).toMatch(/bye$/)
    outside.close()
  })

  it("tunnels after a request, and each direction ends independently", async () => {
    await web()
    const echo = createServer({ allowHalfOpen: true }, socket => socket.on("error", () => undefined).pipe(socket))
    await once(echo.listen(0, "127.0.0.1"), "listening")
    const { port } = echo.address() as AddressInfo // it listens on TCP
    const client = await talk(await start({ allowExternal: true }))
    client.write("GET http://web/first HTTP/1.1\r\nhost: web\r\n\r\n")
    await expect.poll(client.read).toMatch(/v1 GET \/first/)
    // Includes bytes that the program sends before the tunnel is confirmed.
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\nearly `)
    await expect.poll(client.read).toMatch(/200 Connection established\r\n\r\nearly $/)
    client.end("late")
    await client.ended
    expect(client.read()).toMatch(/early late$/)
    echo.close()
  })

  it("waits with its content until the control plane has sent the route", async () => {
    filled = new TestRoutes({ answersAbsent: false })
    const client = await talk(await start({ limits: { routeMs: 60_000 } }))
    client.write("POST http://web/ HTTP/1.1\r\nhost: web\r\ntransfer-encoding: chunked\r\n\r\n5\r\nearly\r\n")
    await expect.poll(() => filled.knownRoutes.subscription.names()).toEqual(["web:80"])
    await web({ answer: (request, response) => request.pipe(response) })
    client.write("4\r\nlate\r\n0\r\n\r\n")
    await expect.poll(client.read).toMatch(/early[\s\S]*late/)
  })
})

describe("gets the reason why there is no response", () => {
  const status = (port: number, url: string, ...more: readonly string[]) =>
    curl(port, "-w", "%{http_code}", ...more, url)

  it("for a host outside of the mesh", async () => {
    expect(await status(await start(), "http://example.test/")).toMatch(
      /is not in the mesh.*--allow-external[\s\S]*502$/,
    )
  })

  it("while it is unknown whether the host is in the mesh, even if other hosts are allowed", async () => {
    filled = new TestRoutes({ answersAbsent: false })
    const port = await start({ allowExternal: true, limits: { routeMs: 20 } })
    expect(await status(port, "http://web/")).toMatch(/has not sent the routes[\s\S]*503$/)
  })

  it("for a server with another identity", async () => {
    const server = await web({ identity: "spiffe://cluster.local/ns/app/sa/other" })
    expect(await status(await start(), "http://web/")).toMatch(/expected `.*web`[\s\S]*503$/)
    expect(server.seen).toEqual([])
  })

  it("for a server that takes too long", async () => {
    await web({ answer: () => undefined })
    expect(await status(await start({ limits: { answerMs: 50 } }), "http://web/")).toMatch(/within 50 ms[\s\S]*504$/)
  })

  it("for a request that is not for a forward proxy", async () => {
    const port = await start()
    const { stdout } = await run("curl", ["-sS", "-w", "%{http_code}", `http://127.0.0.1:${port}/path`])
    expect(stdout).toMatch(/this is a forward proxy[\s\S]*400$/)
  })

  it("and is logged without the query, which may contain tokens", async () => {
    const lines: string[] = []
    const log = { ...SILENT, info: (fields: object) => void lines.push(JSON.stringify(fields)) }
    const server = await mesh.server("v1")
    const routes = mesh.routes([{ subset: "v1", endpoints: [server.endpoint] }])
    const { table } = routes
    await filled.set("web:80", { ...routes, table: { ...table, routes: [] } })
    const port = await start({ log })
    await curl(port, "http://web/a?token=secret", "http://example.test/b?token=secret")
    expect(lines).toMatchObject([expect.stringContaining("matches GET /a"), expect.stringContaining("example.test/b")])
    expect(lines.join()).not.toContain("secret")
  })

  it("for a tunnel out of the mesh", async () => {
    const port = await start()
    await expect(curl(port, "-p", "http://example.test/")).rejects.toThrow(/502/)
  })
})

describe("with --allow-external", () => {
  it("reaches hosts outside of the mesh, in plaintext and by tunnel", async () => {
    const outside = await mesh.server("outside", { plaintext: true })
    const port = await start({ allowExternal: true })
    const url = `http://127.0.0.1:${outside.endpoint.port}/x`
    expect(await curl(port, url)).toBe("outside GET /x")
    expect(await curl(port, "-p", url)).toBe("outside GET /x")
    expect(await curl(port, "--data", "abc", url)).toBe("outside POST /x")
  })

  it("reaches an unknown address without the control plane, unless it may demand mTLS", async () => {
    const outside = await mesh.server("outside", { plaintext: true })
    filled = new TestRoutes({ answersAbsent: false, followsPolicy: true })
    const port = await start({ allowExternal: true, limits: { routeMs: 20 } })
    const call = () => curl(port, "-w", "%{http_code}", `http://127.0.0.1:${outside.endpoint.port}/x`)
    expect(await call()).toMatch(/has not sent the routes[\s\S]*503$/)
    await filled.setPolicy({ mode: "ALLOW_ANY", mtls: ["127.0.0.0/24"] })
    expect(await call()).toMatch(/has not sent the routes[\s\S]*503$/)
    await filled.setPolicy({ mode: "ALLOW_ANY", mtls: ["127.0.1.0/24"] })
    expect(await call()).toBe("outside GET /x200")
  })

  it("learns at once that the server prefers another protocol", async () => {
    const outside = createServer(socket => {
      socket
        .on("error", () => undefined)
        .once("data", () => {
          socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n")
        })
    })
    await once(outside.listen(0, "127.0.0.1"), "listening")
    const port = await start({ allowExternal: true })
    const { port: server } = outside.address() as AddressInfo // it listens on TCP
    expect(await curl(port, "-w", "%{http_code}", `http://127.0.0.1:${server}/`)).toMatch(/not HTTP[\s\S]*502$/)
    outside.close()
  })

  it("detects a request that loops", async () => {
    const port = await start({ allowExternal: true })
    const url = `http://127.0.0.1:${port}/x`
    expect(await curl(port, "-w", "%{http_code}", url)).toMatch(/400$/)
  })
})

describe("disconnects", () => {
  it("a program that disconnects ends its request", async () => {
    let gone: Promise<unknown> | undefined
    const arrived = new Promise<void>(resolve => {
      void web({
        answer: request => {
          gone = once(request, "close")
          resolve()
        },
      })
    })
    const client = await open(await start())
    await expect.poll(() => filled.knownRoutes.subscription.known().size).toBe(1)
    client.write("GET http://web/ HTTP/1.1\r\nhost: web\r\n\r\n")
    await arrived
    client.resetAndDestroy()
    await gone
  })

  it("half a response does not look complete", async () => {
    await web({
      answer: (request, response) => {
        response.writeHead(200, { "content-length": "100" })
        response.write("half")
        setImmediate(() => request.socket.destroy())
      },
    })
    await expect(curl(await start(), "http://web/")).rejects.toThrow(/transfer closed|recv failure|end of response/i)
  })

  it("bytes that are no request get 400 and the connection closed", async () => {
    const client = await open(await start())
    client.write("\x16\x03\x01 nonsense\r\n\r\n")
    let text = ""
    for await (const chunk of client.setEncoding("latin1")) text += chunk
    expect(text).toMatch(/^HTTP\/1.1 400/)
  })
})

async function talk(port: number) {
  const socket = await open(port)
  let text = ""
  socket.setEncoding("latin1").on("data", chunk => {
    text += chunk
  })
  const ended = once(socket, "end")
  return {
    write: (part: string) => socket.write(part),
    end: (part: string) => socket.end(part),
    read: () => text,
    ended,
  }
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1")
  await once(socket, "connect")
  return socket
}
