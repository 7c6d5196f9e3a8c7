// SPDX-License-Identifier: Apache-2.0
// Invalid responses of a collector: sending a batch ends in any case.

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

/** Calls `answer` with the socket once a request has arrived. */
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
  ["not HTTP", "\0\0\0 garbage\r\n\r\n"],
  ["half a head", "HTTP/1.1 200 OK\r\ncontent-le"],
  ["half a response", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"],
])("rejects if the response is %s", async (_, text) => {
  await answering(socket => socket.end(text))
  await expect(collector.post({})).rejects.toThrow()
})

it("rejects if the collector switches to another protocol", async () => {
  await answering(socket =>
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"),
  )
  await expect(collector.post({})).rejects.toThrow("no answer")
})

it("stops reading a response that does not end", async () => {
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
