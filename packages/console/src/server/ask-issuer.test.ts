// SPDX-License-Identifier: Apache-2.0
// Issuers that respond in the wrong way: the user who signs in gets an error, and no request waits forever.

import { once } from "node:events"
import { type AddressInfo, createServer, type Server } from "node:net"
import { afterEach, expect, it } from "vitest"
import { askIssuer } from "./ask-issuer.js"

let server: Server
afterEach(() => server.close())

async function answering(text: string): Promise<string> {
  server = createServer(socket => {
    socket.on("error", () => undefined).once("data", () => socket.end(text))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const { port } = server.address() as AddressInfo // it listens on TCP
  return `http://127.0.0.1:${port}/`
}

it.each([
  ["nothing", ""],
  ["no HTTP", "garbage\r\n\r\n"],
  ["a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"],
])("an issuer that answers %s is an error", async (_, text) => {
  await expect(askIssuer({ url: await answering(text) })).rejects.toThrow("the issuer does not answer")
})
