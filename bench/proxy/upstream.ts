// SPDX-License-Identifier: Apache-2.0
// The application behind every proxy of the benchmark, as cheap as it can be: reads heads, answers by path, keeps alive.
// On another port it answers gRPC calls over HTTP/2 in clear. Prints both.

import { createServer as createHttp2Server } from "node:http2"
import { type AddressInfo, createServer, type Server } from "node:net"
import type { Upstreams } from "./work.js"

const answer = (bytes: number): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${bytes}\r\n\r\n${"x".repeat(bytes)}`,
    "latin1",
  )

const SMALL = answer(2)
const ANSWERS: readonly (readonly [string, Buffer])[] = [
  ["GET /1k", answer(1_024)],
  ["GET /100k", answer(102_400)],
]

const server = createServer({ noDelay: true }, socket => {
  let held = ""
  socket.on("data", chunk => {
    held += chunk.toString("latin1")
    for (let end = held.indexOf("\r\n\r\n"); end >= 0; end = held.indexOf("\r\n\r\n")) {
      const head = held.slice(0, end)
      held = held.slice(end + 4)
      socket.write(ANSWERS.find(([start]) => head.startsWith(start))?.[1] ?? SMALL)
    }
  })
  socket.on("error", () => socket.destroy())
})

const MESSAGE = Buffer.concat([Buffer.from([0, 0, 0, 0, 12]), Buffer.alloc(12, 1)])
const calls = createHttp2Server({ settings: { maxConcurrentStreams: 1_000 } })
calls.on("stream", stream => {
  stream.on("error", () => undefined)
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
  stream.on("end", () => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true })
    stream.end(MESSAGE)
  })
  stream.resume()
})

const portOf = async (listening: Server): Promise<number> => {
  await new Promise<void>(resolve => listening.listen(0, "127.0.0.1", resolve))
  return (listening.address() as AddressInfo).port // TCP servers have this form
}
const upstreams: Upstreams = { http1: await portOf(server), grpc: await portOf(calls) }
console.log(JSON.stringify(upstreams))
