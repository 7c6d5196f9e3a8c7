// SPDX-License-Identifier: Apache-2.0
// Hostile peers against the real process: it continues to serve others, its memory stays bounded, and when they are
// gone nothing of them is left.

import { once } from "node:events"
import { readFileSync } from "node:fs"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { afterAll, beforeAll, expect, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { Authority } from "../../packages/xserver/src/accept/testing/certificates.js"
import { type Application, startApplication } from "../e2e/support/application.js"
import { XserverProcess } from "../e2e/support/xserver.js"

const MiB = 1024 * 1024
const authority = new Authority()
let application: Application
let xserver: XserverProcess

beforeAll(async () => {
  application = await startApplication()
  const limits = [
    ...["headerTimeoutMs=1500", "sniffTimeoutMs=300000", "handshakeTimeoutMs=1500", "connections=12000"],
    // All connections come from one address here; the share of each caller is tested beside xserver's data path.
    "callerSharePercent=100",
  ]
  xserver = await XserverProcess.start({
    upstream: application.port,
    tls: authority.material(),
    args: ["--access-log", "off", ...limits.flatMap(limit => ["--limit", limit])],
  })
})
afterAll(async () => {
  await xserver.remove()
  await application.close()
})

const resident = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${xserver.pid}/status`, "utf8"))?.[1]) * 1024
const served = async (): Promise<boolean> => (await fetch(`${xserver.url}/get`)).status === 200

async function openConnections(): Promise<number> {
  return Number(/xserver_connections\{port="8080"\} (\d+)/.exec(await xserver.metrics())?.[1] ?? 0)
}

function peer(first?: Buffer | string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: xserver.port }, () => {
      if (first !== undefined) socket.write(first)
      resolve(socket)
    })
    socket.on("error", reject)
  })
}

async function many(count: number, first?: Buffer | string): Promise<readonly Socket[]> {
  const sockets: Socket[] = []
  const deadline = Date.now() + 100_000
  while (sockets.length < count) {
    if (Date.now() > deadline) throw new Error(`opened only ${sockets.length} of ${count} connections in 100 s`)
    const batch = await Promise.allSettled(
      Array.from({ length: Math.min(250, count - sockets.length) }, () => peer(first)),
    )
    for (const result of batch) if (result.status === "fulfilled") sockets.push(result.value)
  }
  for (const socket of sockets) socket.on("error", () => undefined)
  return sockets
}

/** The kernel connects before xserver accepts, so only the end of each connection shows that xserver closed it. */
async function closedByServer(sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets) socket.resume()
  await eventually(() => sockets.every(({ closed }) => closed), { what: "xserver has closed each connection" })
}

async function gone(sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets) socket.destroy()
  await eventually(async () => (await openConnections()) < 50, { what: "fewer than 50 connections are open" })
}

it("ten thousand idle connections cost little each, and others are served", async () => {
  await served()
  const before = resident()
  const idle = await many(10_000)
  await eventually(async () => (await openConnections()) >= 10_000, { what: "10,000 connections are open" })
  expect(await served()).toBe(true)
  expect((resident() - before) / idle.length).toBeLessThan(16 * 1024)
  await gone(idle)
})

it("headers that never end are cut off, and others are served meanwhile", async () => {
  const slow = await many(500, "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
  expect(await served()).toBe(true)
  await closedByServer(slow)
  expect(await xserver.metrics()).toMatch(/limits_hit_total\{limit="headerTimeoutMs"\} \d+/)
})

/** The first message of a real client; this one never sends another. */
async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const client = connectTls({ host: "127.0.0.1", port }).on("error", () => undefined)
  const [accepted]: Socket[] = await once(server, "connection")
  const [hello]: Buffer[] = accepted === undefined ? [] : await once(accepted, "data")
  client.destroy()
  server.close()
  if (hello === undefined) throw new Error("the client sent nothing")
  return hello
}

it("handshakes that never end are cut off", async () => {
  const stuck = await many(500, await clientHello())
  expect(await served()).toBe(true)
  await closedByServer(stuck)
})

it("connections beyond the limit are closed at once and counted", async () => {
  const crowd = await many(12_200)
  await eventually(async () => /limits_hit_total\{limit="connections"\} [1-9]/.test(await xserver.metrics()), {
    what: "the limit of connections is hit",
  })
  await gone(crowd)
  expect(await served()).toBe(true)
})

it("a peer that sends and never reads does not fill our memory", async () => {
  const before = resident()
  const greedy = await many(20, "GET /bytes/50000000 HTTP/1.1\r\nHost: a\r\n\r\n")
  for (const socket of greedy) socket.pause()
  await new Promise(resolve => setTimeout(resolve, 1_500))
  expect(await served()).toBe(true)
  expect(resident() - before).toBeLessThan(300 * MiB)
  await gone(greedy)
})

it("garbage is rejected and leaves nothing", async () => {
  const garbage = [
    "\0\0\0\0",
    "GET / HTTP/9.9\r\n\r\n",
    "\r\n\r\n\r\n",
    "A".repeat(100_000),
    "\x16\x03\x01\xff\xff",
    "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
  ]
  for (const text of garbage) await gone(await many(20, Buffer.from(text, "latin1")))
  expect(await served()).toBe(true)
})
