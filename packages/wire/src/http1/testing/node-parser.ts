// SPDX-License-Identifier: Apache-2.0
// Node's own HTTP parser, in strict mode, as a reference: a real server and a real client over an in-memory stream that
// is fed the bytes under test.

import { createServer, type IncomingMessage, request } from "node:http"
import { Duplex } from "node:stream"

export interface NodeMessage {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  readonly rawTrailers: readonly string[]
}

export interface NodeReading {
  readonly messages: readonly NodeMessage[]
  readonly error: string | undefined
}

class Feed extends Duplex {
  override _read(): void {
    // The test pushes the data.
  }

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done()
  }
}

export async function nodeReadsRequests(bytes: Buffer): Promise<NodeReading> {
  const messages: NodeMessage[] = []
  let error: string | undefined
  const server = createServer({ insecureHTTPParser: false, maxHeaderSize: 256 * 1024 }, (incoming, reply) => {
    const body: Buffer[] = []
    incoming.on("data", chunk => body.push(chunk))
    incoming.on("end", () => {
      messages.push({
        method: incoming.method ?? "",
        url: incoming.url ?? "",
        rawHeaders: incoming.rawHeaders,
        body: Buffer.concat(body),
        rawTrailers: incoming.rawTrailers,
      })
      reply.end()
    })
    incoming.on("error", () => undefined)
  })
  // Without these listeners Node answers by itself, and the request is not counted as read.
  server.on("checkContinue", (incoming, reply) => server.emit("request", incoming, reply))
  server.on("checkExpectation", (incoming, reply) => server.emit("request", incoming, reply))
  const feed = new Feed()
  const closed = new Promise(resolve => feed.once("close", resolve))
  server.on("clientError", (cause: NodeJS.ErrnoException) => {
    // The stream stays open: messages that were complete before the error still have to emit their end.
    error ??= cause.code ?? cause.message
  })
  server.emit("connection", feed)
  feed.push(bytes)
  feed.push(null)
  await Promise.race([closed, settled()])
  feed.destroy()
  return { messages, error }
}

export interface NodeResponse {
  readonly status: number | undefined
  readonly body: Buffer
  /** Whether the body is complete. */
  readonly complete: boolean
  readonly error: string | undefined
}

export async function nodeReadsResponse(bytes: Buffer, method: string): Promise<NodeResponse> {
  const feed = new Feed()
  const body: Buffer[] = []
  let answer: IncomingMessage | undefined
  let error: string | undefined
  const outgoing = request({ method, createConnection: () => feed, insecureHTTPParser: false })
  outgoing.on("error", (cause: NodeJS.ErrnoException) => {
    error ??= cause.code ?? cause.message
  })
  outgoing.on("response", incoming => {
    answer = incoming
    incoming.on("data", chunk => body.push(chunk))
    incoming.on("error", (cause: NodeJS.ErrnoException) => {
      error ??= cause.code ?? cause.message
    })
  })
  outgoing.end()
  const closed = new Promise(resolve => outgoing.once("close", resolve))
  await new Promise(resolve => setImmediate(resolve))
  feed.push(bytes)
  feed.push(null)
  await Promise.race([closed, settled()])
  feed.destroy()
  return { status: answer?.statusCode, body: Buffer.concat(body), complete: answer?.complete ?? false, error }
}

/** Everything is in memory, so it is enough to wait for a few turns of the event loop. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise(resolve => setImmediate(resolve))
}
