// SPDX-License-Identifier: Apache-2.0
// The application behind every proxy of the benchmark, as cheap as it can be: reads heads, answers by path, keeps alive.
// Prints its port.

import { createServer } from "node:net"

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
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : undefined)
})
