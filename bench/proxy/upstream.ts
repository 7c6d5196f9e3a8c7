// SPDX-License-Identifier: Apache-2.0
// The application behind every proxy of the benchmark, as cheap as it can be: reads heads, answers by path, keeps alive.
// On another port it answers gRPC calls over HTTP/2 in clear. Prints both.

import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { HTTP2_PREFACE, HTTP2_SETTING, settingsText } from "@merlon/wire"
import { RawConnection, type RawUser } from "./raw-http2.js"
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

/** Answers each call with a message of its own. */
class Answering implements RawUser {
  readonly #connection: RawConnection

  constructor(socket: Socket) {
    const settings = settingsText([[HTTP2_SETTING.maxConcurrentStreams, 1_000]])
    this.#connection = new RawConnection(socket, settings, HTTP2_PREFACE.length, this)
  }

  onFields(): void {
    // The call is its message.
  }

  onContentEnd(stream: number): void {
    const connection = this.#connection
    connection.whenWindow(() => {
      connection.headers(
        stream,
        [
          [":status", "200"],
          ["content-type", "application/grpc"],
        ],
        false,
      )
      connection.message(stream, false)
      connection.headers(stream, [["grpc-status", "0"]], true)
    })
  }

  onReset(): void {
    // Whoever called has lost interest.
  }
}

const calls = createServer({ noDelay: true }, socket => {
  new Answering(socket)
})

const portOf = async (listening: Server): Promise<number> => {
  await new Promise<void>(resolve => listening.listen(0, "127.0.0.1", resolve))
  return (listening.address() as AddressInfo).port // TCP servers have this form
}
const upstreams: Upstreams = { http1: await portOf(server), grpc: await portOf(calls) }
console.log(JSON.stringify(upstreams))
