// SPDX-License-Identifier: Apache-2.0
// Captured connections, with the kernel's answer about their destination provided by the test. The rules that redirect
// are tested in network namespaces and in Pods.

import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import type { Destination } from "@merlon/wire/native"
import type { ServiceEndpoint } from "@merlon/xds"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { Outbound } from "../call/outbound.js"
import { RequestCalls } from "../http/request-calls.js"
import type { CallRecord } from "../observe/call-record.js"
import { CONSUMER_ID, TestMesh, WEB_ID } from "../testing/mesh.js"
import { TestRoutes } from "../testing/test-routes.js"
import { CapturedProxy, type CapturedProxyOptions } from "./captured-proxy.js"

const SERVICE: Destination = { address: "127.96.0.7", port: 80 }
const NAME = "127.96.0.7:80"

let mesh: TestMesh
let filled: TestRoutes
let logged: object[]
let records: CallRecord[]
const closing: (() => unknown)[] = []

beforeEach(() => {
  mesh = new TestMesh()
  filled = new TestRoutes()
  logged = []
  records = []
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await mesh.close()
})

async function listening(server: Server): Promise<Destination> {
  await once(server.listen(0, "127.0.0.1"), "listening")
  closing.push(() => server.close())
  const { address, port } = server.address() as AddressInfo
  return { address, port }
}

/** Sends a greeting, echoes, and ends when its client does. */
function echo(socket: Socket): void {
  socket.on("error", () => socket.destroy())
  socket.write("hello ")
  socket.pipe(socket)
}

async function meshServer(
  identity = WEB_ID,
): Promise<{ readonly endpoint: ServiceEndpoint; readonly callers: string[] }> {
  const { certificateChain: cert, privateKey: key } = mesh.credentials(identity)
  const callers: string[] = []
  const tls = { cert, key, ca: mesh.authority.bundle, requestCert: true, rejectUnauthorized: true, allowHalfOpen: true }
  const server = createTlsServer({ ...tls, ALPNProtocols: ["merlon"] }, socket => {
    callers.push(String(socket.getPeerCertificate().subjectaltname))
    echo(socket)
  })
  const where = await listening(server)
  return { endpoint: { ...where, healthy: true, workload: "app/web", mtlsMode: "STRICT" }, callers }
}

async function plainServer(): Promise<Destination> {
  return listening(createServer({ allowHalfOpen: true }, echo))
}

async function start(
  destinationOf: CapturedProxyOptions["destinationOf"],
  limits: CapturedProxyOptions["limits"] = {},
  isControlPlaneAway = () => false,
): Promise<number> {
  const credentials = mesh.credentials()
  const material = () => ({ id: 1, credentials, trust: mesh.trust })
  const { health } = filled
  const outbound = new Outbound({
    health,
    material,
    tunnelAlpn: ["merlon"],
    connectTimeoutMs: 60_000,
  })
  const requests = new RequestCalls({ mesh: "merlon", health, material, connectTimeoutMs: 60_000 })
  closing.push(() => requests.close())
  const log = { info() {}, warn: (fields: object) => logged.push(fields), error() {} }
  const { knownRoutes } = filled
  const proxy = new CapturedProxy({
    ...{ knownRoutes, outbound, requests, destinationOf, isControlPlaneAway, log, limits },
    observer: { trace: () => undefined, done: record => records.push(record), ejected: () => undefined },
  })
  closing.push(() => proxy.close(0))
  return (await proxy.listen(0)).port
}

/** The response to a program that sends `text` and then ends its direction; undefined if the connection is reset. */
async function say(port: number, text: string, host = "127.0.0.1"): Promise<string | undefined> {
  const socket = connect({ port, host, allowHalfOpen: true })
  let read = ""
  socket.on("data", chunk => (read += chunk))
  socket.end(text)
  return new Promise(resolve => {
    socket.on("error", () => resolve(undefined))
    socket.on("close", () => resolve(read))
  })
}

describe("a captured connection", () => {
  it("to a host of the mesh arrives over mutual TLS, under the identity of the workload", async () => {
    const web = await meshServer()
    await filled.set(NAME, mesh.routes([{ subset: "", endpoints: [web.endpoint] }]))
    expect(await say(await start(() => SERVICE), "bytes")).toBe("hello bytes")
    expect(web.callers).toEqual([`URI:${CONSUMER_ID}`])
  })

  it("over IPv6 as well", async () => {
    const web = await meshServer()
    await filled.set("[::7]:80", mesh.routes([{ subset: "", endpoints: [web.endpoint] }]))
    const port = await start(() => ({ address: "::7", port: 80 }))
    expect(await say(port, "bytes", "::1")).toBe("hello bytes")
  })

  it("to anything else is forwarded unchanged", async () => {
    const plain = await plainServer()
    expect(await say(await start(() => plain), "bytes")).toBe("hello bytes")
  })

  it("to a Service whose workloads have no proxy goes to the original address", async () => {
    const called = await plainServer()
    const elsewhere: ServiceEndpoint = {
      address: "127.0.0.1",
      port: 9,
      healthy: true,
      workload: "",
      mtlsMode: undefined,
    }
    await filled.set(`127.0.0.1:${called.port}`, {
      ...mesh.routes([{ subset: "", endpoints: [elsewhere] }]),
    })
    expect(await say(await start(() => called), "bytes")).toBe("hello bytes")
  })

  it("is split by the weights of a MeshService", async () => {
    const [v1, v2] = [await meshServer(), await meshServer()]
    const split = [
      { subset: "v1", endpoints: [v1.endpoint], weight: 3 },
      { subset: "v2", endpoints: [v2.endpoint], weight: 1 },
    ]
    await filled.set(NAME, mesh.routes(split))
    const port = await start(() => SERVICE)
    for (let n = 0; n < 8; n++) expect(await say(port, "x")).toBe("hello x")
    expect([v1.callers.length, v2.callers.length]).toEqual([6, 2])
  })

  it("carries large content in both directions", async () => {
    const web = await meshServer()
    await filled.set(NAME, mesh.routes([{ subset: "", endpoints: [web.endpoint] }]))
    const much = "0123456789abcdef".repeat(262_144)
    expect((await say(await start(() => SERVICE), much))?.length).toBe(much.length + 6)
  })
})

describe("a captured connection whose server has vanished", () => {
  it("ends after a long silence, and uses TCP keep-alive before", async () => {
    const probed = vi.spyOn(Socket.prototype, "setKeepAlive")
    closing.push(() => probed.mockRestore())
    const server = await plainServer()
    const socket = connect({ port: await start(() => server, { idleMs: 200 }), host: "127.0.0.1" })
    await once(socket, "data")
    expect(probed).toHaveBeenCalledWith(true, 60_000)
    await once(socket, "close")
  })
})

describe("a captured connection is reset", () => {
  it("if the server proves another identity", async () => {
    const impostor = await meshServer("spiffe://cluster.local/ns/app/sa/other")
    await filled.set(NAME, mesh.routes([{ subset: "", endpoints: [impostor.endpoint] }]))
    expect(await say(await start(() => SERVICE), "secret")).toBeUndefined()
    expect(impostor.callers).toEqual([])
    expect(logged).toMatchObject([{ destination: NAME, code: "unreachable", why: expect.stringContaining("sa/other") }])
  })

  it("if a MeshService requires mutual TLS and the server has no proxy", async () => {
    const plain = await plainServer()
    const endpoint: ServiceEndpoint = { ...plain, healthy: true, workload: "app/web", mtlsMode: undefined }
    const spec = mesh.routes([{ subset: "", endpoints: [endpoint], cluster: { tlsMode: "DUBBO_MUTUAL" } }])
    await filled.set(`127.0.0.1:${plain.port}`, spec)
    expect(await say(await start(() => plain, { connectMs: 1_000 }), "secret")).toBeUndefined()
  })

  it("while the control plane has not resolved the address", async () => {
    filled = new TestRoutes({ answersAbsent: false })
    const plain = await plainServer()
    expect(await say(await start(() => plain, { routeMs: 50 }), "secret")).toBeUndefined()
    expect(logged).toMatchObject([{ code: "route-unknown" }])
  })

  it("if the server resets it, whatever it sent before", async () => {
    let reset = (): unknown => undefined
    const server = await listening(
      createServer(socket => {
        socket.on("error", () => undefined).write("part")
        reset = () => socket.resetAndDestroy()
      }),
    )
    const program = connect(await start(() => server), "127.0.0.1")
    await once(program, "data")
    reset()
    await expect(once(program, "end")).rejects.toThrow("ECONNRESET")
  })

  it("if no server listens there", async () => {
    // Another test may have taken a port that was just free; no test takes this one.
    const gone = { address: "127.0.0.1", port: 1 }
    expect(await say(await start(() => gone), "x")).toBeUndefined()
    expect(logged).toMatchObject([{ code: "unreachable" }])
  })

  it("if it was not redirected", async () => {
    const port = await start(({ localAddress = "", localPort = 0 }) => ({ address: localAddress, port: localPort }))
    expect(await say(port, "x")).toBeUndefined()
    expect(logged).toMatchObject([{ code: "not-captured" }])
  })
})

describe("the record of a connection", () => {
  const recorded = (count: number) => vi.waitFor(() => expect(records).toHaveLength(count), { timeout: 30_000 })

  it("has the Service, mutual TLS, and the bytes of both directions", async () => {
    const web = await meshServer()
    await filled.set(NAME, mesh.routes([{ subset: "", endpoints: [web.endpoint] }]))
    await say(await start(() => SERVICE), "bytes")
    await recorded(1)
    expect(records).toMatchObject([
      {
        ...{ protocol: "tcp", destination: "web.app.svc.cluster.local:80", inMesh: true, transport: "mtls" },
        ...{ workload: "app/web", bytesReceived: 5, bytesSent: 11, failure: undefined },
      },
    ])
  })

  it("has the transport of a destination outside of the mesh", async () => {
    const plain = await plainServer()
    await say(await start(() => plain), "bytes")
    await recorded(1)
    const destination = `127.0.0.1:${plain.port}`
    expect(records).toMatchObject([{ destination, inMesh: false, transport: "passthrough", bytesSent: 11 }])
  })

  it("has the reason of a reset", async () => {
    const impostor = await meshServer("spiffe://cluster.local/ns/app/sa/other")
    await filled.set(NAME, mesh.routes([{ subset: "", endpoints: [impostor.endpoint] }]))
    await say(await start(() => SERVICE), "secret")
    await recorded(1)
    expect(records).toMatchObject([{ inMesh: true, transport: "none", failure: "unreachable" }])
  })
})

describe("while the control plane is down, a connection to an unknown address", () => {
  const AWAY = { routeMs: 60_000 }
  const blocks = (...mtls: string[]) => ({ mode: "ALLOW_ANY", mtls }) as const

  beforeEach(() => {
    filled = new TestRoutes({ answersAbsent: false, followsPolicy: true })
  })

  it("is forwarded unchanged, at once", async () => {
    const plain = await plainServer()
    await filled.setPolicy(blocks("127.96.0.7", "127.97.0.0/24"))
    expect(
      await say(
        await start(
          () => plain,
          AWAY,
          () => true,
        ),
        "bytes",
      ),
    ).toBe("hello bytes")
    expect(logged).toEqual([])
  })

  it("is forwarded after a while if the outage is not known yet", async () => {
    const plain = await plainServer()
    await filled.setPolicy(blocks())
    expect(await say(await start(() => plain, { routeMs: 20 }), "bytes")).toBe("hello bytes")
  })

  it.each(["127.0.0.1", "127.0.0.0/24", "0.0.0.0/0"])("is reset if %s requires mutual TLS", async block => {
    const plain = await plainServer()
    await filled.setPolicy(blocks(block))
    expect(
      await say(
        await start(
          () => plain,
          AWAY,
          () => true,
        ),
        "secret",
      ),
    ).toBeUndefined()
    expect(logged).toMatchObject([{ code: "mtls-unknown", why: expect.stringContaining("requires mutual TLS") }])
  })

  it("is reset if the control plane has never sent which addresses require mutual TLS", async () => {
    const plain = await plainServer()
    expect(
      await say(
        await start(
          () => plain,
          AWAY,
          () => true,
        ),
        "secret",
      ),
    ).toBeUndefined()
    expect(logged).toMatchObject([{ code: "route-unknown", why: expect.stringContaining("has not sent yet which") }])
  })

  it("is rejected under REGISTRY_ONLY", async () => {
    const plain = await plainServer()
    await filled.setPolicy({ mode: "REGISTRY_ONLY", mtls: [] })
    expect(
      await say(
        await start(
          () => plain,
          AWAY,
          () => true,
        ),
        "bytes",
      ),
    ).toBeUndefined()
    expect(logged).toMatchObject([{ code: "registry-only" }])
  })
})

describe("under REGISTRY_ONLY", () => {
  beforeEach(async () => {
    filled = new TestRoutes({ followsPolicy: true })
    await filled.setPolicy({ mode: "REGISTRY_ONLY", mtls: [] })
  })

  it("tells a program that speaks HTTP why its call is rejected", async () => {
    const plain = await plainServer()
    const reply = await say(await start(() => plain), "GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    expect(reply).toMatch(/^HTTP\/1\.1 502 /)
    expect(reply).toContain("x-merlon-failure: registry-only")
    expect(reply).toContain(`the outbound policy is REGISTRY_ONLY, and 127.0.0.1:${plain.port} is neither`)
    expect(logged).toMatchObject([{ code: "registry-only", destination: `127.0.0.1:${plain.port}` }])
    expect(records).toMatchObject([{ transport: "none", inMesh: false, failure: "registry-only" }])
  })

  it("resets the connection of another program", async () => {
    const plain = await plainServer()
    expect(await say(await start(() => plain), "bytes")).toBeUndefined()
    expect(logged).toMatchObject([{ code: "registry-only" }])
  })

  it("calls an address of the cluster without a proxy unchanged", async () => {
    const plain = await plainServer()
    const endpoint: ServiceEndpoint = { ...plain, healthy: true, workload: "", mtlsMode: undefined }
    await filled.set(`127.0.0.1:${plain.port}`, mesh.routes([{ subset: "", endpoints: [endpoint] }]))
    expect(await say(await start(() => plain), "bytes")).toBe("hello bytes")
  })

  it("allows calls again when the policy changes", async () => {
    const plain = await plainServer()
    const port = await start(() => plain)
    expect(await say(port, "bytes")).toBeUndefined()
    await filled.setPolicy({ mode: "ALLOW_ANY", mtls: [] })
    expect(await say(port, "bytes")).toBe("hello bytes")
  })
})
