// SPDX-License-Identifier: Apache-2.0
// The outgoing connections of an unmodified program, which its Pod's network redirects here. The original destination
// decides: hosts of the mesh are called by their routes and over mTLS, everything else unchanged.

import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type { Destination } from "@merlon/wire/native"
import type { Log } from "@merlon/xds/runtime"
import { CallFailure } from "../call/call-failure.js"
import type { Outbound } from "../call/outbound.js"
import type { RequestCalls } from "../http/request-calls.js"
import { type CallObserver, UNOBSERVED } from "../observe/call-record.js"
import { ObservedConnection } from "../observe/observed-connection.js"
import { tunnelExternally } from "../proxy/external.js"
import { joinSockets } from "../proxy/tunnel.js"
import { authorityOf } from "../routes/authority.js"
import type { HostRouting } from "../routes/host-routing.js"
import type { KnownRoutes } from "../routes/known-routes.js"
import { FailureLog } from "./failure-log.js"
import { readFirstBytes } from "./first-bytes.js"
import { OwnConnections } from "./own-connections.js"

export interface CapturedLimits {
  readonly connections: number
  /** How long to wait for the control plane to resolve an address. */
  readonly routeMs: number
  readonly connectMs: number
  /** How long a program may stay silent before the connection is carried as bytes: the server may speak first. */
  readonly silenceMs: number
  readonly idleMs: number
}

const DEFAULT_LIMITS: CapturedLimits = {
  connections: 10_000,
  routeMs: 5_000,
  connectMs: 30_000,
  silenceMs: 200,
  idleMs: 3_600_000,
}

export interface CapturedProxyOptions {
  readonly knownRoutes: KnownRoutes
  readonly outbound: Outbound
  readonly requests: RequestCalls
  /** The original destination of a connection; its own local address if it was not redirected. Undefined if unknown. */
  readonly destinationOf: (socket: Socket) => Destination | undefined
  /** Whether the control plane is unreachable, so that there is no point in waiting for its answer. */
  readonly isControlPlaneAway: () => boolean
  readonly log: Log
  /** Receives every connection that is not carried request by request. */
  readonly observer?: CallObserver
  readonly limits?: Partial<CapturedLimits>
}

/** Protocols in which the server speaks first, or that are never HTTP: SMTP, MySQL, PostgreSQL, Redis and others. */
const OPAQUE_PORTS: ReadonlySet<number> = new Set([25, 587, 3306, 4444, 5432, 6379, 9300, 11_211])

/** Time without a byte before TCP keep-alive probes the server. */
const PROBE_AFTER_MS = 60_000

/** REDIRECT sends the connections of each address family to its own loopback address. */
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

  /** If there is no IPv6, nothing is redirected to its loopback address. */
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
    // A program may close its own direction and still read (RFC 9293 section 3.6).
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true })
    server.maxConnections = this.#limits.connections
    server.on("connection", socket => void this.#serve(socket))
    await once(server.listen(address), "listening")
    this.#servers.push(server)
    return server.address() as AddressInfo // it listens on TCP
  }

  /** Stops accepting. Resolves when every connection has ended, or the time is over. */
  async close(drainMs = 5_000): Promise<void> {
    const closed = Promise.all(this.#servers.map(server => new Promise(resolve => server.close(resolve))))
    this.#options.requests.drain()
    const timer = setTimeout(() => {
      for (const socket of this.#connections) socket.destroy()
    }, drainMs)
    await closed
    clearTimeout(timer)
  }

  async #serve(client: Socket): Promise<void> {
    this.#connections.add(client)
    client.once("close", () => this.#connections.delete(client))
    // An error without a listener would end the process; `close` follows it.
    client.on("error", () => client.destroy())
    const observed = new ObservedConnection(this.#options.observer ?? UNOBSERVED, client)
    const destination = this.#options.destinationOf(client)
    const name = destination === undefined ? "" : authorityOf(destination.address, destination.port)
    let routing: HostRouting | undefined
    try {
      if (destination === undefined || isDirect(client, destination))
        throw new CallFailure("not-captured", "the connection was not redirected to this port")
      if (!this.#own.accepted(client, destination)) throw new CallFailure("captured-loop", LOOP)
      routing = await this.#routingTo(destination, name)
      if (routing === undefined) await this.#passThrough(client, destination, observed)
      else await this.#carry(client, destination, name, routing, observed)
    } catch (error) {
      const failure = CallFailure.of(error)
      this.#failures.failed(name, failure)
      const reached = { destination: routing === undefined ? name : hostOf(routing), inMesh: routing !== undefined }
      observed.done({ ...reached, transport: "none", workload: undefined }, failure)
      if (failure.code === "registry-only" && (await this.#explain(client, destination, name, failure))) return
      // The program's protocol is unknown, so it cannot get an error response: it sees a reset, as from a server that
      // is down.
      client.resetAndDestroy()
    }
  }

  /** Undefined for a destination outside of the mesh that may be called unchanged. */
  async #routingTo({ address }: Destination, name: string): Promise<HostRouting | undefined> {
    const { knownRoutes, isControlPlaneAway } = this.#options
    const known = knownRoutes.ask(name)
    const isPointless = known === "unknown" && isControlPlaneAway()
    const answer = isPointless ? known : await knownRoutes.find(name, this.#limits.routeMs)
    if (answer === "absent") {
      if (knownRoutes.policy?.isRegistryOnly === true) throw CallFailure.registryOnly(name)
      return undefined
    }
    if (answer !== "unknown") return answer.isOutsideMesh ? undefined : answer
    // Fail closed: while it is unknown whether mutual TLS is required, nothing is sent in plaintext.
    if (knownRoutes.policy?.spec === undefined) {
      const why = "the control plane has not sent yet which addresses require mutual TLS, nor"
      throw new CallFailure("route-unknown", `${why} the routes of ${name}`)
    }
    if (knownRoutes.policy.mayDemandMtls(address)) {
      const why = "requires mutual TLS, and the control plane has not sent its routes yet"
      throw new CallFailure("mtls-unknown", `${name} is, or is in the same block as, an address that ${why}`)
    }
    if (knownRoutes.policy.isRegistryOnly) throw CallFailure.registryOnly(name)
    return undefined
  }

  /** Tells a program that speaks HTTP the reason. False if it does not speak HTTP and could not read it. */
  async #explain(
    client: Socket,
    destination: Destination | undefined,
    name: string,
    failure: CallFailure,
  ): Promise<boolean> {
    if (destination === undefined || OPAQUE_PORTS.has(destination.port)) return false
    try {
      const { protocol, head } = await readFirstBytes(client, this.#limits.silenceMs)
      if (protocol === "tcp") return false
      this.#options.requests.reject(client, protocol, head, name, failure)
      return true
    } catch {
      return false
    }
  }

  async #passThrough(
    client: Socket,
    { address: host, port }: Destination,
    observed: ObservedConnection,
  ): Promise<void> {
    const server = await tunnelExternally({ host, port }, this.#limits.connectMs)
    const destination = authorityOf(host, port)
    this.#join(client, Buffer.alloc(0), server, () =>
      observed.done({ destination, inMesh: false, transport: "passthrough", workload: undefined }),
    )
  }

  /** Carries HTTP request by request, and everything else as bytes on a connection of its own. */
  async #carry(
    client: Socket,
    { port }: Destination,
    name: string,
    routing: HostRouting,
    observed: ObservedConnection,
  ): Promise<void> {
    const { knownRoutes, requests, outbound } = this.#options
    const isOpaque = routing.spec.protocol === "tcp" || (routing.spec.protocol === undefined && OPAQUE_PORTS.has(port))
    const first = isOpaque ? undefined : await readFirstBytes(client, this.#silenceMs(routing))
    if (first !== undefined && first.protocol !== "tcp") {
      client.once("close", knownRoutes.hold(name))
      requests.serve(client, first.protocol, first.head, routing, failure => this.#failures.failed(name, failure))
      return
    }
    const { choice, endpoint, socket } = await outbound.tunnel(routing)
    const transport = socket instanceof TLSSocket ? "mtls" : "plaintext"
    const reached = { destination: hostOf(routing), inMesh: true, transport } as const
    const ended = (): void => observed.done({ ...reached, workload: endpoint.workload })
    const { tcpIdleTimeoutMs } = choice.destination?.limits ?? {}
    this.#join(client, first?.head ?? Buffer.alloc(0), socket, ended, tcpIdleTimeoutMs)
  }

  /** If the port speaks HTTP, or every route depends on the request, the server does not speak first. */
  #silenceMs({ spec }: HostRouting): number {
    const needsHttp = spec.protocol === "http" || spec.table.routes.every(({ match }) => match.length > 0)
    return needsHttp ? this.#limits.idleMs : this.#limits.silenceMs
  }

  #join(client: Socket, head: Buffer, server: Socket, ended: () => void, idleMs = this.#limits.idleMs): void {
    this.#connections.add(server)
    server.once("close", () => this.#connections.delete(server))
    if (!this.#own.made(server)) {
      server.destroy()
      throw new CallFailure("captured-loop", LOOP)
    }
    // The program's own keep-alive probes end at the proxy, so the proxy has to probe the server.
    server.setKeepAlive(true, PROBE_AFTER_MS)
    if (head.length > 0) server.write(head)
    void joinSockets(client, server, idleMs).then(ended)
  }
}

const LOOP = "the proxy's own connection was redirected to it; the rules in the Pod do not exempt its user id"

function hostOf({ spec: { table } }: HostRouting): string {
  return authorityOf(table.host, table.port)
}

/** The proxy itself is the destination: forwarding would be a loop. */
function isDirect({ localAddress, localPort }: Socket, { address, port }: Destination): boolean {
  return address === localAddress && port === localPort
}

function isWithoutIpv6(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  return code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT"
}
