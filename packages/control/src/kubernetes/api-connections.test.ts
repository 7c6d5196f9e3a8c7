// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { createSecureContext } from "node:tls"
import { afterEach, expect, it } from "vitest"
import { ApiConnections, type Outgoing } from "./api-connections.js"

const GET: Outgoing = { method: "GET", path: "/", headers: {}, body: null }
const never = (): AbortSignal => new AbortController().signal

let server: Server
let connections: ApiConnections
async function start(listener: RequestListener): Promise<void> {
  server = createServer(listener).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  connections = new ApiConnections(new URL(`http://127.0.0.1:${port}`), {
    secureContext: createSecureContext(),
    rejectUnauthorized: true,
  })
}
afterEach(() => {
  connections.destroy()
  server.closeAllConnections()
  server.close()
})

it("sends the whole body of a DELETE", async () => {
  await start((request, response) => void text(request).then(body => response.end(`${request.method} ${body}`)))
  const answer = await connections.send({ ...GET, method: "DELETE", body: "{}" }, never(), 10_000)
  expect(await text(answer)).toBe("DELETE {}")
})

it("keeps a connection for the next request", async () => {
  const sockets = new Set<unknown>()
  await start((request, response) => {
    sockets.add(request.socket)
    response.end()
  })
  for (let calls = 0; calls < 3; calls++) await text(await connections.send(GET, never(), 10_000))
  expect(sockets.size).toBe(1)
})

it("ends a body with the signal's reason", async () => {
  await start((_, response) => response.write("begun"))
  const end = new AbortController()
  const answer = await connections.send(GET, end.signal, 10_000)
  const reason = new Error("the reason")
  const read = text(answer)
  end.abort(reason)
  await expect(read).rejects.toBe(reason)
})

it("gives up on a server that does not answer in time", async () => {
  await start(() => undefined)
  await expect(connections.send(GET, never(), 50)).rejects.toMatchObject({ name: "TimeoutError" })
})

it("fails if the server closes the connection without an answer", async () => {
  await start(request => request.socket.destroy())
  await expect(connections.send(GET, never(), 10_000)).rejects.toMatchObject({ code: "ECONNRESET" })
})

it("finishes a running request when retired, and does not keep its connection", async () => {
  let closed: Promise<unknown> | undefined
  await start((request, response) => {
    closed = once(request.socket, "close")
    connections.retire()
    response.end("late")
  })
  const sent = connections.send(GET, never(), 10_000)
  expect(await text(await sent)).toBe("late")
  await closed
})

it("ends requests that wait for a connection when it is destroyed", async () => {
  await start(() => undefined)
  const sent = Array.from({ length: 60 }, () => connections.send(GET, never(), 10_000))
  connections.destroy()
  const ended = await Promise.allSettled(sent)
  expect(ended.filter(({ status }) => status === "rejected")).toHaveLength(60)
})
