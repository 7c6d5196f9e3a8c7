// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { afterEach, beforeEach, expect, it } from "vitest"
import { healthServer } from "./health-server.js"

let application: Server
let answer: (socket: Socket) => void
const health = healthServer({
  notReady: () => undefined,
  metrics: async () => ({ type: "text/plain", text: "" }),
  application: () => undefined,
  probe: () => ({ kind: "http", port: portOf(application), path: "/", headers: {}, timeoutMs: 200 }),
})
const portOf = (server: Server) => (server.address() as AddressInfo).port // both are TCP servers

beforeEach(async () => {
  application = createServer(socket => socket.on("error", () => undefined).once("data", () => answer(socket)))
  for (const server of [application, health]) {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  }
})
afterEach(() => {
  health.close()
  health.closeAllConnections()
  application.close()
})

const probe = async () =>
  (await fetch(`http://127.0.0.1:${portOf(health)}/probe`, { headers: { connection: "close" } })).status

it("does not wait for an application whose headers never end", async () => {
  answer = socket => {
    socket.write("HTTP/1.1 200 OK\r\n")
    const drip = setInterval(() => socket.write("x: y\r\n"), 20)
    socket.on("close", () => clearInterval(drip))
  }
  expect(await probe()).toBe(503)
})

it("drops a response that never ends", async () => {
  const gone = new Promise<void>(resolve => {
    answer = socket => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      const drip = setInterval(() => socket.write("1\r\na\r\n"), 20)
      socket.on("close", () => {
        clearInterval(drip)
        resolve()
      })
    }
  })
  // On a busy machine the response head may come too late; then the next probe gets another one.
  await expect.poll(probe, { timeout: 90_000 }).toBe(200)
  await gone
})

it("rejects a protocol switch as a response", async () => {
  answer = socket => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
  expect(await probe()).toBe(503)
})
