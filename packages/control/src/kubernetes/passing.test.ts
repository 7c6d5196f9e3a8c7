// SPDX-License-Identifier: Apache-2.0
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, it } from "vitest"
import { passingApi, withToken } from "./passing.js"

let server: Server

beforeEach(async () => {
  server = createServer((_, response) => void response.writeHead(401).end("{}"))
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
})

it("survives a client that leaves before the end of a response", async () => {
  const { port } = server.address() as AddressInfo // the server listens on a port
  const at = `http://127.0.0.1:${port}`
  const api = passingApi(
    withToken(
      { server: at, origin: at, credentials: async () => ({}), rejected: () => undefined, insecure: true },
      "t",
    ),
    "test",
  )
  const { status, body } = await api.send({ method: "GET", path: "/", accept: "*/*" }, new AbortController().signal)
  expect(status).toBe(401)
  const closed = new Promise(resolve => body.once("close", resolve))
  body.destroy()
  await closed
  await api.close()
})
