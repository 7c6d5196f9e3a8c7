// SPDX-License-Identifier: Apache-2.0

import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { afterEach, describe, expect, it } from "vitest"
import { Authority, GOOD_ID } from "../accept/testing/certificates.js"
import { authorization, listening, type Rig, type RigOptions, startEcho, startRig } from "../accept/testing/rig.js"

const authority = new Authority()
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(app: (socket: Socket) => void, options: RigOptions = {}): Promise<{ rig: Rig; app: Server }> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket.on("error", () => undefined))
    app(socket)
  })
  const port = await listening(server)
  const upstream = { host: "127.0.0.1", port }
  const rig = await startRig({ authority, ...options, port: { protocol: "tcp", upstream, ...options.port } })
  cleanups.push(
    () => server.close(),
    () => {
      for (const socket of sockets) socket.destroy()
    },
    () => rig.stop(),
  )
  return { rig, app: server }
}

function dial(rig: Rig): Socket {
  const socket = connect({ host: "127.0.0.1", port: rig.port, allowHalfOpen: true }).on("error", () => undefined)
  cleanups.push(() => socket.destroy())
  return socket
}

async function everything(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const echo = (socket: Socket): void => void socket.pipe(socket)

describe.each(["in clear", "under mTLS"])("a tunnel %s", how => {
  function open(rig: Rig): Socket {
    if (how === "in clear") return dial(rig)
    const { certificate, privateKey } = authority.issue()
    const own = { cert: certificate, key: privateKey, ALPNProtocols: ["merlon"], rejectUnauthorized: false }
    const options = { host: "127.0.0.1", port: rig.port, allowHalfOpen: true, ...own }
    const socket = connectTls(options)
    cleanups.push(() => socket.destroy())
    return socket.on("error", () => undefined)
  }

  it("carries bytes in both directions, which end independently", async () => {
    const { rig } = await start(socket => {
      // Answers only after the client has ended, to test half-close.
      const chunks: Buffer[] = []
      socket.on("data", chunk => chunks.push(chunk))
      socket.on("end", () => socket.end(Buffer.concat(chunks)))
    })
    const socket = open(rig)
    const body = randomBytes(5_000_000)
    socket.end(body)
    expect((await everything(socket)).equals(body)).toBe(true)
    await rig.meters.until(meters => meters.records.length === 1 && meters.open === 0)
    expect(rig.meters.records[0]).toMatchObject({
      protocol: "tcp",
      bytesReceived: body.length,
      bytesSent: body.length,
      status: 0,
      peer: how === "in clear" ? undefined : GOOD_ID,
      judgement: { verdict: "allow" },
      upstreamFailure: undefined,
    })
  })

  it("ends with the application", async () => {
    const { rig } = await start(socket => socket.once("data", () => socket.end("bye")))
    const socket = open(rig)
    socket.write("x")
    expect((await everything(socket)).toString()).toBe("bye")
    socket.end()
    await rig.meters.until(meters => meters.open === 0)
    expect(rig.connections.size).toBe(0)
  })

  it("stops reading while the peer does not read", async () => {
    let application: Socket | undefined
    const { rig, app } = await start(socket => {
      application = socket.pause()
    })
    const connected = once(app, "connection")
    const socket = open(rig)
    const size = 50_000_000
    socket.end(Buffer.alloc(size))
    await connected
    await new Promise(resolve => setTimeout(resolve, 200))
    expect(socket.bytesWritten - socket.writableLength).toBeLessThan(size / 2)
    if (application === undefined) throw new Error("not connected")
    application.end()
    expect((await everything(application)).length).toBe(size)
  })

  it("is denied by a policy without a byte, and without reaching the application", async () => {
    let asked = 0
    const deny = authorization("no", { action: "DENY", rules: [{ to: [{ operation: { ports: ["8080"] } }] }] })
    const { rig } = await start(() => asked++, { policies: [deny] })
    const socket = open(rig)
    socket.write("hello")
    const gone = new Promise(resolve => socket.once("close", resolve))
    const received: Buffer[] = []
    socket.on("data", chunk => received.push(chunk))
    socket.on("end", () => socket.destroy())
    await gone
    expect(received).toEqual([])
    await rig.meters.until(meters => meters.records.length === 1)
    expect(rig.meters.records[0]).toMatchObject({
      judgement: { verdict: "deny", stage: "deny" },
      decisionId: expect.stringMatching(/^[0-9a-f]{20}$/),
      bytesSent: 0,
    })
    expect(asked).toBe(0)
  })
})

it("is judged by the identity that the peer proved", async () => {
  const allow = authorization("frontend", {
    action: "ALLOW",
    rules: [{ from: [{ source: { principals: [GOOD_ID.replace("spiffe://", "")] } }] }],
  })
  const { rig } = await start(echo, { policies: [allow] })
  const anonymous = dial(rig)
  anonymous.write("x")
  const gone = new Promise(resolve => anonymous.once("close", resolve))
  anonymous.resume()
  await gone
  const { certificate, privateKey } = authority.issue()
  const own = { cert: certificate, key: privateKey, ALPNProtocols: ["merlon"], rejectUnauthorized: false }
  const peer = connectTls({ host: "127.0.0.1", port: rig.port, ...own })
  cleanups.push(() => peer.destroy())
  peer.write("x")
  expect(String((await once(peer, "data"))[0])).toBe("x")
})

it("is judged by the server name of TLS that only the application can read", async () => {
  const echo = await startEcho(authority)
  cleanups.push(() => echo.close())
  const allow = authorization("by-name", {
    action: "ALLOW",
    rules: [{ when: [{ key: "connection.sni", values: ["app.example"] }] }],
  })
  const port = { protocol: "tcp", upstream: { host: "127.0.0.1", port: echo.port } } as const
  const rig = await startRig({ authority, policies: [allow], port })
  cleanups.push(() => rig.stop())
  const answers = ["app.example", "other.example"].map(async servername => {
    const socket = connectTls({ host: "127.0.0.1", port: rig.port, servername, ca: authority.certificate })
    cleanups.push(() => socket.destroy())
    socket.on("error", () => undefined).write("x")
    return new Promise(resolve => {
      socket.once("data", data => resolve(String(data))).once("close", () => resolve("closed"))
    })
  })
  expect(await Promise.all(answers)).toEqual([expect.stringMatching(/^app-tls:/), "closed"])
})

it("ends connections that the current policies deny, though nothing was sent yet", async () => {
  const { rig } = await start(socket => socket.write("ready"), { mode: "DISABLE" })
  const socket = dial(rig)
  expect(String((await once(socket, "data"))[0])).toBe("ready")
  const deny = authorization("no", { action: "DENY", rules: [{}] })
  rig.gate.swap((await startRigProgram({ mode: "DISABLE", policies: [deny] })).gate.program)
  const gone = new Promise(resolve => socket.once("close", resolve))
  socket.resume()
  await rig.connections.judgeAgain()
  await gone
  await rig.meters.until(meters => meters.records.length === 1)
  expect(rig.meters.records[0]?.judgement?.verdict).toBe("deny")
  expect(rig.meters.ended).toEqual(["tcp deny"])
})

async function startRigProgram(options: RigOptions): Promise<Rig> {
  const rig = await startRig(options)
  cleanups.push(() => rig.stop())
  return rig
}

it("records the failure if the application is down", async () => {
  const { rig, app } = await start(echo)
  app.close()
  await once(app, "close")
  const socket = dial(rig)
  socket.write("x")
  await new Promise(resolve => socket.once("close", resolve).resume())
  await rig.meters.until(meters => meters.records.length === 1)
  expect(rig.meters.records[0]?.upstreamFailure).toBe("connect")
})

it("ends an idle tunnel", async () => {
  const { rig } = await start(echo, { limits: { tunnelIdleTimeoutMs: 50 } })
  const socket = dial(rig)
  socket.write("x")
  await new Promise(resolve => socket.once("end", resolve).once("close", resolve).resume())
  await rig.meters.until(meters => meters.open === 0)
  expect(rig.meters.limits).toEqual(["tunnelIdleTimeoutMs"])
})

it("waits for its tunnels at shutdown, until it has to end them", async () => {
  const { rig } = await start(echo)
  const socket = dial(rig)
  socket.write("x")
  await once(socket, "data")
  rig.listener.stopAccepting()
  rig.connections.drainAll()
  socket.write("y")
  expect(String((await once(socket, "data"))[0])).toBe("y")
  rig.connections.destroyAll()
  await rig.meters.until(meters => meters.open === 0)
})
