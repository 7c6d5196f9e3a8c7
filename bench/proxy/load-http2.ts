// SPDX-License-Identifier: Apache-2.0
// The caller for HTTP/2 with client certificates and for gRPC, which h2load cannot: some connections, each with a fixed
// number of streams in flight.

import { once } from "node:events"
import { readFileSync } from "node:fs"
import { type ClientHttp2Session, connect } from "node:http2"
import { type Load, type LoadFigures, takeOrders } from "./orders.js"

export interface Http2LoadOptions {
  readonly port: number
  readonly connections: number
  /** At once on each connection. */
  readonly streams: number
  readonly path: string
  /** Folder with ca.pem, client.pem and client.key. */
  readonly mtls: string | undefined
  /** A unary call with a small message instead of GET. */
  readonly grpc: boolean
}

/** Five bytes say that twelve follow, uncompressed. */
const MESSAGE = Buffer.concat([Buffer.from([0, 0, 0, 0, 12]), Buffer.alloc(12, 1)])

class Http2Load implements Load {
  readonly #options: Http2LoadOptions
  #sessions: ClientHttp2Session[] = []

  constructor(options: Http2LoadOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    const alive = this.#sessions.filter(session => !session.closed && !session.destroyed)
    while (alive.length < this.#options.connections) alive.push(await this.#connect())
    this.#sessions = alive
  }

  async run(seconds: number): Promise<LoadFigures> {
    const latenciesMs: number[] = []
    let errors = 0
    const started = performance.now()
    const caller = async (session: ClientHttp2Session): Promise<void> => {
      while (performance.now() < started + seconds * 1_000) {
        const sent = performance.now()
        if (await this.#call(session).catch(() => false)) latenciesMs.push(performance.now() - sent)
        else errors++
        if (session.destroyed) return
      }
    }
    const callers = this.#sessions.flatMap(session =>
      Array.from({ length: this.#options.streams }, () => caller(session)),
    )
    await Promise.all(callers)
    return { requests: latenciesMs.length, errors, seconds: (performance.now() - started) / 1_000, latenciesMs }
  }

  /** Whether it was answered as it should be. */
  #call(session: ClientHttp2Session): Promise<boolean> {
    const { grpc, path } = this.#options
    const head = grpc
      ? { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" }
      : { ":path": path }
    return new Promise((resolve, reject) => {
      const stream = session.request(head)
      let good = false
      stream.on("response", ({ ":status": status }) => {
        good = !grpc && status === 200
      })
      stream.on("trailers", trailers => {
        good = grpc && trailers["grpc-status"] === "0"
      })
      stream.on("error", reject)
      stream.on("close", () => resolve(good))
      stream.resume()
      if (grpc) stream.end(MESSAGE)
    })
  }

  async #connect(): Promise<ClientHttp2Session> {
    const { mtls, port } = this.#options
    const file = (name: string): Buffer => readFileSync(`${mtls}/${name}`)
    const session =
      mtls === undefined
        ? connect(`http://127.0.0.1:${port}`)
        : connect(`https://127.0.0.1:${port}`, {
            cert: file("client.pem"),
            key: file("client.key"),
            ca: file("ca.pem"),
            checkServerIdentity: () => undefined,
          })
    session.on("error", () => undefined)
    await once(session, "remoteSettings")
    return session
  }
}

if (process.argv[2] !== undefined) {
  const options: Http2LoadOptions = JSON.parse(readFileSync(process.argv[2], "utf8"))
  await takeOrders(new Http2Load(options))
}
