// SPDX-License-Identifier: Apache-2.0
// The caller for gRPC and for HTTP/2 with client certificates or tokens, which h2load cannot do: some connections, each
// with a fixed number of streams in flight.

import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { HTTP2_PREFACE, HTTP2_SETTING, type Http2Field, settingsText } from "@merlon/wire"
import { type Load, type LoadFigures, runOrders } from "./orders.js"
import { MESSAGE, RawConnection, type RawUser } from "./raw-http2.js"

export interface Http2LoadOptions {
  readonly host: string
  readonly port: number
  readonly connections: number
  /** Concurrent streams on each connection. */
  readonly streams: number
  readonly path: string
  /** Folder with ca.pem, client.pem and client.key. */
  readonly mtls: string | undefined
  /** Sends a unary call with a small message instead of GET. */
  readonly grpc: boolean
  /** Sent in turn; if empty, requests have no token. */
  readonly tokens: readonly string[]
}

const FIRST = HTTP2_PREFACE + settingsText([[HTTP2_SETTING.enablePush, 0]])

type Head = readonly (readonly [name: string, value: string])[]

function headsOf(options: Http2LoadOptions): readonly Head[] {
  const head = headOf(options)
  const { tokens } = options
  return tokens.length === 0 ? [head] : tokens.map(token => [...head, ["authorization", `Bearer ${token}`]])
}

function headOf({ grpc, mtls, path }: Http2LoadOptions): Head {
  const scheme = mtls === undefined ? "http" : "https"
  const common: Head = [
    [":method", grpc ? "POST" : "GET"],
    [":scheme", scheme],
    [":path", path],
    [":authority", "app.bench"],
    ["user-agent", "bench"],
  ]
  return grpc ? [...common, ["content-type", "application/grpc"], ["te", "trailers"]] : [...common, ["accept", "*/*"]]
}

/** One connection, with the results of one stretch. */
class CallingConnection implements RawUser {
  readonly #connection: RawConnection
  readonly #grpc: boolean
  readonly #heads: readonly Head[]
  /** When each stream was begun. */
  readonly #sent = new Map<number, number>()
  readonly #good = new Set<number>()
  #nextStream = 1
  #until = 0
  #done: (() => void) | undefined
  latenciesMs: number[] = []
  errors = 0

  constructor(socket: Socket, options: Http2LoadOptions) {
    this.#grpc = options.grpc
    this.#heads = headsOf(options)
    this.#connection = new RawConnection(socket, FIRST, 0, this)
    socket.on("close", () => {
      this.errors += this.#sent.size
      this.#sent.clear()
      this.#done?.()
    })
  }

  get closed(): boolean {
    return this.#connection.closed
  }

  async run(streams: number, until: number): Promise<void> {
    this.latenciesMs = []
    this.errors = 0
    this.#until = until
    if (this.closed) return
    const done = new Promise<void>(resolve => {
      this.#done = resolve
    })
    for (let n = 0; n < streams; n++) this.#begin()
    this.#connection.flush()
    await done
  }

  onFields(stream: number, fields: readonly Http2Field[], ended: boolean): void {
    const [name, value] = this.#grpc ? ["grpc-status", "0"] : [":status", "200"]
    if (fields.some(field => field.name === name && field.value === value)) this.#good.add(stream)
    if (ended) this.#end(stream)
  }

  onContentEnd(stream: number): void {
    this.#end(stream)
  }

  onReset(stream: number): void {
    this.#good.delete(stream)
    this.#end(stream)
  }

  #begin(): void {
    const stream = this.#nextStream
    this.#nextStream += 2
    this.#sent.set(stream, performance.now())
    const connection = this.#connection
    const head = this.#heads[((stream - 1) / 2) % this.#heads.length] ?? []
    if (!this.#grpc) {
      connection.headers(stream, head, true)
      return
    }
    connection.whenWindow(MESSAGE, () => {
      connection.headers(stream, head, false)
      connection.data(stream, MESSAGE, true)
    })
  }

  #end(stream: number): void {
    const sent = this.#sent.get(stream)
    if (sent === undefined) return
    this.#sent.delete(stream)
    const now = performance.now()
    if (this.#good.delete(stream)) this.latenciesMs.push(now - sent)
    else this.errors++
    if (now < this.#until) this.#begin()
    else if (this.#sent.size === 0) this.#done?.()
  }
}

class Http2Load implements Load {
  readonly #options: Http2LoadOptions
  #connections: readonly CallingConnection[] = []

  constructor(options: Http2LoadOptions) {
    this.#options = options
  }

  async open(): Promise<void> {
    const alive = this.#connections.filter(({ closed }) => !closed)
    while (alive.length < this.#options.connections) alive.push(await this.#connect())
    this.#connections = alive
  }

  async run(seconds: number): Promise<LoadFigures> {
    const started = performance.now()
    const until = started + seconds * 1_000
    await Promise.all(this.#connections.map(connection => connection.run(this.#options.streams, until)))
    const latenciesMs = this.#connections.flatMap(connection => connection.latenciesMs)
    const errors = this.#connections.reduce((sum, connection) => sum + connection.errors, 0)
    return { requests: latenciesMs.length, errors, seconds: (performance.now() - started) / 1_000, latenciesMs }
  }

  async #connect(): Promise<CallingConnection> {
    const { mtls, host, port } = this.#options
    const options = { host, port, noDelay: true }
    const file = (name: string): Buffer => readFileSync(`${mtls}/${name}`)
    const socket =
      mtls === undefined
        ? connect(options)
        : connectTls({
            ...options,
            cert: file("client.pem"),
            key: file("client.key"),
            ca: file("ca.pem"),
            ALPNProtocols: ["h2"],
            checkServerIdentity: () => undefined,
          })
    await once(socket, mtls === undefined ? "connect" : "secureConnect")
    return new CallingConnection(socket, this.#options)
  }
}

if (process.argv[2] !== undefined) {
  const options: Http2LoadOptions = JSON.parse(readFileSync(process.argv[2], "utf8"))
  await runOrders(new Http2Load(options))
}
