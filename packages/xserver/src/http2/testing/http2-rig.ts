// SPDX-License-Identifier: Apache-2.0
// A rig with the HTTP/2 handler in front of a real application, and third-party clients.

import { once } from "node:events"
import { createServer as createHttp1, type RequestListener } from "node:http"
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  createServer as createHttp2,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
  type ServerHttp2Stream,
  type Settings,
} from "node:http2"
import type { Server } from "node:net"
import { connectTcp, Http1Pool, Http2Pool } from "@merlon/wire"
import { type Connect, Deadlines } from "@merlon/wire/http"
import { listening, PATIENT_LIMITS, type Rig, type RigOptions, startRig } from "../../accept/testing/rig.js"
import { forwardTo } from "../../http/exchange.js"
import { serveHttp1 } from "../../http1/serve.js"
import { serveHttp2 } from "../serve.js"

export type Speaks = "http/1.1" | "h2c"

/**
 * The application's request handler, for both protocols: the compatibility API of node:http2 accepts the same listener.
 */
export type AppListener = RequestListener

export class Http2Rig {
  readonly rig: Rig
  readonly app: Server
  readonly #sessions = new Set<ClientHttp2Session>()

  constructor(rig: Rig, app: Server) {
    this.rig = rig
    this.app = app
  }

  connect(options: ClientSessionOptions | SecureClientSessionOptions = {}): ClientHttp2Session {
    const scheme = "ca" in options ? "https" : "http"
    const session = connect(`${scheme}://127.0.0.1:${this.rig.port}`, { maxSessionMemory: 1_000, ...options })
    session.on("error", () => undefined)
    this.#sessions.add(session)
    return session
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy()
    await this.rig.stop()
    this.app.close()
    if ("closeAllConnections" in this.app && typeof this.app.closeAllConnections === "function") {
      this.app.closeAllConnections()
    }
  }
}

export async function startHttp2Rig(
  speaks: Speaks,
  app: AppListener | ((stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void),
  options: RigOptions & { readonly raw?: boolean; readonly settings?: Settings } = {},
): Promise<Http2Rig> {
  const server = speaks === "h2c" ? createHttp2({ settings: options.settings ?? {} }) : createHttp1()
  server.on(options.raw === true ? "stream" : "request", app)
  const port = await listening(server)
  const limits = { ...PATIENT_LIMITS, ...options.limits }
  const deadlines = new Deadlines(limits)
  const address = { host: "127.0.0.1", port }
  const rig = await startRig({
    ...options,
    handlers: ({ parts }) => {
      const connect: Connect = how => connectTcp(address, limits.connectTimeoutMs, how)
      const pool = { connect, limits, deadlines, observer: parts.meters }
      const upstream = speaks === "h2c" ? new Http2Pool(pool) : new Http1Pool(pool)
      const services = { ...parts, deadlines }
      const forwarded = forwardTo(() => upstream)
      return { http1: serveHttp1(services, forwarded), http2: serveHttp2(services, forwarded) }
    },
  })
  return new Http2Rig(rig, server)
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly trailers: IncomingHttpHeaders
  /** Flags of the frame that carried the headers. */
  readonly flags: number
}

export async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  let trailers: IncomingHttpHeaders = {}
  stream.on("trailers", received => {
    trailers = received
  })
  const [headers, flags]: [IncomingHttpHeaders, number] = await once(stream, "response").then(([first, second]) => [
    first,
    second,
  ])
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return { status: Number(headers[":status"]), headers, body: Buffer.concat(chunks), trailers, flags }
}

export function ask(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders = {},
  body?: string | Buffer,
): Promise<Answer> {
  const stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  return answerOf(stream)
}
