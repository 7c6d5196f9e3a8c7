// SPDX-License-Identifier: Apache-2.0
// The application behind every proxy of the benchmark, as cheap as possible: reads heads, responds by path, keeps
// connections alive. On another port it serves gRPC calls and requests without content over cleartext HTTP/2. Prints
// both ports. Listens on the given host, loopback by default.

import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { HTTP2_PREFACE, HTTP2_SETTING, type Http2Field, settingsText } from "@merlon/wire"
import { MESSAGE, RawConnection, type RawUser } from "./raw-http2.js"
import type { Upstreams } from "./work.js"

const answer = (bytes: number): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${bytes}\r\n\r\n${"x".repeat(bytes)}`,
    "latin1",
  )

const SMALL = answer(2)
const SMALL_CONTENT = "xx"
const SMALL_HEAD = [
  [":status", "200"],
  ["content-type", "text/plain"],
  ["content-length", String(SMALL_CONTENT.length)],
] as const
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

/** Answers each call with its own message. */
class Answering implements RawUser {
  readonly #connection: RawConnection

  constructor(socket: Socket) {
    const settings = settingsText([[HTTP2_SETTING.maxConcurrentStreams, 1_000]])
    this.#connection = new RawConnection(socket, settings, HTTP2_PREFACE.length, this)
  }

  /** A call is answered after its message; a request without content is answered as over HTTP/1.1. */
  onFields(stream: number, _: readonly Http2Field[], ended: boolean): void {
    const connection = this.#connection
    if (!ended) return
    connection.whenWindow(SMALL_CONTENT, () => {
      connection.headers(stream, SMALL_HEAD, false)
      connection.data(stream, SMALL_CONTENT, true)
    })
  }

  onContentEnd(stream: number): void {
    const connection = this.#connection
    connection.whenWindow(MESSAGE, () => {
      connection.headers(
        stream,
        [
          [":status", "200"],
          ["content-type", "application/grpc"],
        ],
        false,
      )
      connection.data(stream, MESSAGE, false)
      connection.headers(stream, [["grpc-status", "0"]], true)
    })
  }

  onReset(): void {
    // The caller has disconnected.
  }
}

const calls = createServer({ noDelay: true }, socket => {
  new Answering(socket)
})

const host = process.argv[2] ?? "127.0.0.1"
const portOf = async (listening: Server): Promise<number> => {
  await new Promise<void>(resolve => listening.listen(0, host, resolve))
  return (listening.address() as AddressInfo).port // TCP servers have this form
}
const upstreams: Upstreams = { http1: await portOf(server), grpc: await portOf(calls) }
console.log(JSON.stringify(upstreams))
