// SPDX-License-Identifier: Apache-2.0
// An application, the handler in front of it, and the sockets in between, all real. The listener is minimal, so that
// tests exercise the handler.

import { EventEmitter, once } from "node:events"
import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from "node:http"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { compile } from "@merlon/policy/authorization"
import { type MeshConfig, meshConfig } from "@merlon/policy/mesh"
import { parseIp, parseSpiffeId } from "@merlon/policy/request"
import type { PolicyDocument } from "@merlon/policy/resources"
import { connectTcp, Http1Pool, Http2Pool } from "@merlon/wire"
import { type ConnectOptions, Deadlines } from "@merlon/wire/http"
import { eventually, sourceOf } from "@merlon/wire/testing"
import type { Accepted, PeerCertificate } from "../../accept/accepted.js"
import { Connections } from "../../accept/connections.js"
import { RecordingMeters } from "../../accept/testing/recording-meters.js"
import { PATIENT_LIMITS } from "../../accept/testing/rig.js"
import type { ApplicationPort } from "../../config/application-port.js"
import { Gate } from "../../enforcement/gate.js"
import { forwardTo } from "../../http/exchange.js"
import type { Limits } from "../../limits.js"
import { serveHttp1 } from "../serve.js"

export const WORKLOAD = { namespace: "foo", name: "app-1", labels: { app: "app" } } as const

export interface RigOptions {
  readonly application?: RequestListener
  /** Handles the application's connections in place of an HTTP server. */
  readonly raw?: (socket: Socket) => void
  /** Port of an HTTP/2 application in cleartext, in place of either. */
  readonly h2c?: number
  readonly documents?: readonly PolicyDocument[]
  readonly mesh?: Partial<MeshConfig>
  readonly limits?: Partial<Limits>
  readonly port?: Partial<ApplicationPort>
  /** The certificate that the peer seems to have authenticated with. */
  readonly certificate?: PeerCertificate
  /** How connections are handed over: with their first bytes read, as sniffing does (the default), or untouched. */
  readonly hand?: "with-head" | "untouched"
}

export class Rig {
  readonly meters = new RecordingMeters()
  readonly connections: Connections
  readonly gate: Gate
  readonly #sockets = new Set<Socket>()
  readonly #application: HttpServer | Server
  readonly #front: Server
  readonly #mesh: MeshConfig
  #upstream: Http1Pool | undefined

  private constructor(options: RigOptions) {
    this.connections = new Connections({ ...PATIENT_LIMITS, ...options.limits })
    this.#mesh = meshConfig(options.mesh)
    this.gate = new Gate(compile(options.documents ?? [], WORKLOAD, this.#mesh))
    const raw = options.raw
    this.#application = raw
      ? createServer({ allowHalfOpen: true }, socket => {
          socket.on("error", () => undefined)
          raw(socket)
        })
      : createHttpServer({ keepAliveTimeout: 60_000 }, options.application)
    this.#application.on("connection", socket => this.#track(socket))
    this.#front = createServer({ allowHalfOpen: true, noDelay: true })
    this.#front.on("connection", socket => this.#track(socket))
  }

  static async start(options: RigOptions = {}): Promise<Rig> {
    const rig = new Rig(options)
    await rig.#listen(options)
    return rig
  }

  get port(): number {
    return portOf(this.#front)
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get upstream(): Http1Pool {
    if (this.#upstream === undefined) throw new Error("not started")
    return this.#upstream
  }

  get application(): HttpServer | Server {
    return this.#application
  }

  enforce(...documents: PolicyDocument[]): void {
    this.gate.swap(compile(documents, WORKLOAD, this.#mesh))
  }

  /** A raw client that adds nothing to what the test sends. */
  async client(): Promise<RawClient> {
    const socket = connect({ port: this.port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true })
    this.#track(socket)
    await once(socket, "connect")
    return new RawClient(socket)
  }

  async stop(): Promise<void> {
    void this.#upstream?.close()
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all([this.#front, this.#application].map(server => new Promise(done => server.close(done))))
  }

  /** Stops only the application, with all its connections. */
  async stopApplication(): Promise<void> {
    if (this.#application.listening) {
      const closed = new Promise(done => this.#application.close(done))
      if ("closeAllConnections" in this.#application) this.#application.closeAllConnections()
      await closed
    }
  }

  async #listen(options: RigOptions): Promise<void> {
    this.#application.listen(0, "127.0.0.1")
    await once(this.#application, "listening")
    const limits = { ...PATIENT_LIMITS, ...options.limits }
    const deadlines = new Deadlines(limits)
    const { meters, connections, gate } = this
    const address = { host: "127.0.0.1", port: portOf(this.#application) }
    const pool = (port: number) => ({
      connect: (how: ConnectOptions) => connectTcp({ ...address, port }, limits.connectTimeoutMs, how),
      limits,
      deadlines,
      observer: meters,
    })
    const upstream = new Http1Pool(pool(address.port))
    this.#upstream = upstream
    const target = options.h2c === undefined ? upstream : new Http2Pool(pool(options.h2c))
    const handle = serveHttp1(
      { gate, meters, limits, connections, deadlines },
      forwardTo(() => target),
    )
    const port: ApplicationPort = {
      listen: { host: "127.0.0.1", port: 0 },
      port: 8080,
      upstream: address,
      protocol: "http",
      upstreamProtocol: "http/1.1",
      serviceNames: [],
      ...options.port,
    }
    this.#front.on("connection", socket => {
      const hand = (head: Buffer) => handle(acceptedOf(socket, head, port, options.certificate))
      if (options.hand === "untouched") hand(Buffer.alloc(0))
      else
        socket.once("data", head => {
          socket.pause()
          hand(head)
        })
    })
    this.#front.listen(0, "127.0.0.1")
    await once(this.#front, "listening")
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on("error", () => undefined)
    socket.on("close", () => this.#sockets.delete(socket))
  }
}

function acceptedOf(socket: Socket, head: Buffer, port: ApplicationPort, certificate?: PeerCertificate): Accepted {
  const loopback = parseIp("127.0.0.1")
  if (loopback === undefined) throw new Error("no loopback")
  const peer = certificate && parseSpiffeId(certificate.uri)
  const connection = { peer, sourceIp: loopback, destinationIp: loopback, destinationPort: port.port, sni: undefined }
  return { socket, head, connection, certificate, port }
}

function portOf(server: Server | HttpServer): number {
  const address = server.address()
  return isAddress(address) ? address.port : 0
}

const isAddress = (address: string | AddressInfo | null): address is AddressInfo =>
  typeof address === "object" && address !== null

export class RawClient {
  readonly socket: Socket
  readonly #events = new EventEmitter()
  #received = Buffer.alloc(0)
  ended = false
  closed = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on("data", chunk => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#events.emit("change")
    })
    socket.on("end", () => {
      this.ended = true
      this.#events.emit("change")
    })
    socket.on("close", () => {
      this.closed = true
      this.#events.emit("change")
    })
  }

  get received(): string {
    return this.#received.toString("latin1")
  }

  send(text: string): this {
    this.socket.write(text, "latin1")
    return this
  }

  async until(holds: (client: this) => boolean): Promise<void> {
    await eventually(() => holds(this), {
      what: sourceOf(holds),
      state: () =>
        `${this.closed ? "closed, " : this.ended ? "ended, " : ""}received ${JSON.stringify(this.received.slice(-500))}`,
      change: signal => once(this.#events, "change", { signal }),
    })
  }

  /** Everything until the peer has ended its side. */
  async all(): Promise<string> {
    await this.until(client => client.ended || client.closed)
    return this.received
  }

  /** Takes the next complete response with a Content-Length. */
  async response(): Promise<string> {
    let end = -1
    await this.until(({ received }) => {
      const head = received.indexOf("\r\n\r\n")
      const length = Number(/content-length: (\d+)/i.exec(received.slice(0, head))?.[1] ?? 0)
      end = head + 4 + length
      return head >= 0 && received.length >= end
    })
    const text = this.received.slice(0, end)
    this.#received = this.#received.subarray(end)
    return text
  }
}
