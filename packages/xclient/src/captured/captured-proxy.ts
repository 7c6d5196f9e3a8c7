// SPDX-License-Identifier: Apache-2.0
// The calls of an unmodified program: the network of its Pod redirects each outgoing connection here. The destination it
// meant decides: hosts of the mesh are reached by their routes and over mutual TLS, everything else as the program called it.

import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import type { Log } from "@merlon/xds/runtime"
import { CallFailure } from "../call/call-failure.js"
import type { Outbound } from "../call/outbound.js"
import { tunnelExternally } from "../proxy/external.js"
import { joinSockets } from "../proxy/tunnel.js"
import { authorityOf } from "../routes/authority.js"
import type { RouteBook } from "../routes/route-book.js"
import { FailureLog } from "./failure-log.js"
import { type Destination, OwnConnections } from "./own-connections.js"

export interface CapturedLimits {
  readonly connections: number
  /** How long to wait for the control plane to say who is at an address. */
  readonly routeMs: number
  readonly connectMs: number
  readonly idleMs: number
}

const DEFAULT_LIMITS: CapturedLimits = {
  connections: 10_000,
  routeMs: 5_000,
  connectMs: 30_000,
  idleMs: 3_600_000,
}

export interface CapturedProxyOptions {
  readonly book: RouteBook
  readonly outbound: Outbound
  /** Where a connection was going; its own local address for one that was not redirected. Undefined if nobody knows. */
  readonly destinationOf: (socket: Socket) => Destination | undefined
  readonly log: Log
  readonly limits?: Partial<CapturedLimits>
}

/** REDIRECT leads connections of each family to its own loopback address. */
const LOOPBACK = ["127.0.0.1", "::1"]

export class CapturedProxy {
  readonly #options: CapturedProxyOptions
  readonly #limits: CapturedLimits
  readonly #failures: FailureLog
  readonly #own = new OwnConnections()
  readonly #servers: Server[] = []
  readonly #connections = new Set<Socket>()

  constructor(options: CapturedProxyOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#failures = new FailureLog(options.log)
  }

  /** Where there is no IPv6, nothing is redirected to its loopback address. */
  async listen(port: number): Promise<AddressInfo> {
    const first = await this.#listen({ host: LOOPBACK[0], port })
    try {
      await this.#listen({ host: LOOPBACK[1], port: first.port })
    } catch (error) {
      if (!isWithoutIpv6(error)) throw error
    }
    return first
  }

  async #listen(address: { readonly host: string | undefined; readonly port: number }): Promise<AddressInfo> {
    // A program may end its own direction and still read (RFC 9293 section 3.6).
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true })
    server.maxConnections = this.#limits.connections
    server.on("connection", socket => void this.#serve(socket))
    await once(server.listen(address), "listening")
    this.#servers.push(server)
    return server.address() as AddressInfo // it listens on TCP
  }

  /** Accepts nothing new. Resolves when every connection has ended, or the time is over. */
  async close(drainMs = 5_000): Promise<void> {
    const closed = Promise.all(this.#servers.map(server => new Promise(resolve => server.close(resolve))))
    const timer = setTimeout(() => {
      for (const socket of this.#connections) socket.destroy()
    }, drainMs)
    await closed
    clearTimeout(timer)
  }

  async #serve(client: Socket): Promise<void> {
    this.#connections.add(client)
    client.once("close", () => this.#connections.delete(client))
    // Without a listener an error would end the process; `close` follows.
    client.on("error", () => client.destroy())
    const destination = this.#options.destinationOf(client)
    const name = destination === undefined ? "" : authorityOf(destination.address, destination.port)
    try {
      if (destination === undefined || isDirect(client, destination))
        throw new CallFailure("not-captured", "the connection was not redirected to this port")
      if (!this.#own.accepted(client, destination)) throw new CallFailure("captured-loop", LOOP)
      const server = await this.#connect(destination, name)
      this.#connections.add(server)
      server.once("close", () => this.#connections.delete(server))
      if (client.destroyed) server.destroy()
      else joinSockets(client, server, this.#limits.idleMs)
    } catch (error) {
      this.#failures.failed(name, CallFailure.of(error))
      // What the program speaks is not known, so nothing can be said to it: it sees a reset, as from a server that is down.
      client.resetAndDestroy()
    }
  }

  async #connect(destination: Destination, name: string): Promise<Socket> {
    const { book, outbound } = this.#options
    const answer = await book.find(name, this.#limits.routeMs)
    // Fail closed: as long as it is unknown whether mutual TLS is demanded, nothing is sent in plaintext.
    if (answer === "unknown")
      throw new CallFailure("route-unknown", `the control plane has not said yet who is at ${name}`)
    const isOutside = answer === "absent" || answer.isOutsideMesh
    const server = isOutside
      ? await tunnelExternally({ host: destination.address, port: destination.port }, this.#limits.connectMs)
      : (await outbound.tunnel(answer)).socket
    if (this.#own.made(server)) return server
    server.destroy()
    throw new CallFailure("captured-loop", LOOP)
  }
}

const LOOP = "the proxy's own connection was redirected to it; the rules in the Pod do not exempt its user id"

/** Carrying it there would be a loop. */
function isDirect({ localAddress, localPort }: Socket, { address, port }: Destination): boolean {
  return address === localAddress && port === localPort
}

function isWithoutIpv6(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  return code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT"
}
