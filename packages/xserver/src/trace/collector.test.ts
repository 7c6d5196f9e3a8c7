// SPDX-License-Identifier: Apache-2.0
// Collectors that answer something else than a collector would: each batch comes to an end anyway.

import { createServer, type Server, type Socket } from "node:net"
import { afterEach, expect, it } from "vitest"
import { listening } from "../accept/testing/rig.js"
import { type Collector, collectorAt } from "./collector.js"

let server: Server
let collector: Collector
let sockets: Socket[]
afterEach(() => {
  collector.close()
  for (const socket of sockets) socket.destroy()
  server.close()
})

/** Does this with the socket once something has been asked. */
async function answering(answer: (socket: Socket) => void): Promise<void> {
  sockets = []
  server = createServer(socket => {
    sockets.push(socket)
    socket.on("error", () => undefined).once("data", () => answer(socket))
  })
  collector = collectorAt(`http://127.0.0.1:${await listening(server)}/v1/traces`)
}

it.each([
  ["nothing", ""],
  ["no HTTP", "\0\0\0 garbage\r\n\r\n"],
  ["half a head", "HTTP/1.1 200 OK\r\ncontent-le"],
  ["half an answer", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"],
])("rejects where the answer is %s", async (_, text) => {
  await answering(socket => socket.end(text))
  await expect(collector.post({})).rejects.toThrow()
})

it("rejects where the collector would rather speak something else", async () => {
  await answering(socket =>
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"),
  )
  await expect(collector.post({})).rejects.toThrow("no answer")
})

it("listens to no answer that does not end", async () => {
  const chunk = Buffer.alloc(64 * 1024, "x")
  await answering(socket => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.write("HTTP/1.1 200 OK\r\n\r\n")
    socket.on("drain", more)
    more()
  })
  await expect(collector.post({})).resolves.toBe("taken")
})
