// SPDX-License-Identifier: Apache-2.0
// One call through the mesh: route, destination, endpoint, connection. Endpoints that cannot be reached are left out for
// a while and the next one is tried; once a byte of the request is on its way, nothing is tried again.

import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http"
import type { Socket } from "node:net"
import type { ServiceEndpoint, TrustSpec } from "@merlon/xds"
import type { EndpointHealth } from "../balance/endpoint-health.js"
import { ConnectFailure, connect } from "../connect/connect.js"
import type { ConnectionPool } from "../connect/connection-pool.js"
import type { Material } from "../connect/material.js"
import { planTransport, type TransportPlan } from "../connect/transport-plan.js"
import { VerifiedConnections } from "../connect/verified-connections.js"
import type { Call } from "../routes/call.js"
import type { Choice, HostRouting } from "../routes/host-routing.js"
import { CallFailure } from "./call-failure.js"

export interface OutboundOptions {
  readonly pool: ConnectionPool
  readonly health: EndpointHealth
  readonly material: () => Material | undefined
  /** What tunnels offer inside TLS. */
  readonly tunnelAlpn: readonly string[]
  readonly connectTimeoutMs: number
}

export interface Exchange {
  readonly choice: Choice
  readonly endpoint: ServiceEndpoint
  readonly request: ClientRequest
  readonly response: Promise<IncomingMessage>
}

export interface Tunnel {
  readonly choice: Choice
  readonly endpoint: ServiceEndpoint
  readonly socket: Socket
}

export const MAX_TRIES = 3
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])

export class Outbound {
  readonly #options: OutboundOptions
  readonly #tunnels = new VerifiedConnections()

  constructor(options: OutboundOptions) {
    this.#options = options
  }

  /** A request on a connection that is ready, nothing sent yet. Rejects with a CallFailure. */
  async open(routing: HostRouting, call: Call, headers: OutgoingHttpHeaders): Promise<Exchange> {
    const choice = routing.choose(call)
    if (choice === undefined) {
      // Without the query, which may hold a token: this goes into logs.
      const [path] = call.target.split("?", 1)
      throw new CallFailure("no-route", `no route of ${routing.spec.table.host} takes ${call.method} ${path}`)
    }
    return this.#openAt(choice, call, headers)
  }

  /**
   * A request without a body, sent. A kept connection may be closed by the server at the very moment we use it, so what
   * may be said twice (RFC 9110 section 9.2.2) is said again, to the same destination.
   */
  async send(routing: HostRouting, call: Call, headers: OutgoingHttpHeaders, onOpen?: (it: Exchange) => void) {
    let exchange = await this.open(routing, call, headers)
    for (let tries = 1; ; tries++) {
      onOpen?.(exchange)
      exchange.request.end()
      try {
        return { choice: exchange.choice, response: await exchange.response }
      } catch (error) {
        const { request, choice } = exchange
        const isStale = request.reusedSocket && CallFailure.of(error).isReset && IDEMPOTENT.has(call.method)
        if (!isStale || tries > MAX_TRIES) throw error
        exchange = await this.#openAt(choice, call, headers)
      }
    }
  }

  #openAt(choice: Choice, call: Call, headers: OutgoingHttpHeaders): Promise<Exchange> {
    return this.#try(choice, async (endpoint, plan, material) => {
      const agent = this.#options.pool.agentFor(endpoint, plan, material)
      const { address: host, port } = endpoint
      const { method, target: path } = call
      const request = httpRequest({ agent, host, port, method, path, headers, setHost: false })
      const response = responseTo(request)
      await onSocket(request)
      return { choice, endpoint, request, response }
    })
  }

  /** A connection for bytes we do not look into. Only routes that take every request can be meant. */
  tunnel(routing: HostRouting): Promise<Tunnel> {
    const choice = routing.chooseForBytes()
    if (choice === undefined) {
      const { host } = routing.spec.table
      return Promise.reject(new CallFailure("no-route", `no route of ${host} takes every request, as a tunnel needs`))
    }
    const { destination } = choice
    if (destination?.openConnection() === false)
      return Promise.reject(CallFailure.overflow(choice.name, ["maxConnections"]))
    const closed = (): void => destination?.closeConnection()
    const tunnel = this.#try(choice, async (endpoint, plan, material) => {
      const { connectTimeoutMs, tunnelAlpn: alpn } = this.#options
      const timeoutMs = destination?.limits?.connectTimeoutMs ?? connectTimeoutMs
      const socket = await connect({ endpoint, plan, material, alpn, timeoutMs, allowHalfOpen: true })
      if (plan.kind === "mutual") this.#tunnels.add(socket, plan.identities)
      return { choice, endpoint, socket }
    })
    tunnel.then(({ socket }) => (socket.closed ? closed() : socket.once("close", closed)), closed)
    return tunnel
  }

  /** Whom we trust has changed: ends tunnels to servers that are trusted no more. */
  trustChanged(trust: TrustSpec): void {
    this.#tunnels.recheck(trust)
  }

  async #try<T>(
    choice: Choice,
    attempt: (endpoint: ServiceEndpoint, plan: TransportPlan, material: Material) => Promise<T>,
  ): Promise<T> {
    const { health, material } = this.#options
    const current = material()
    if (current === undefined) throw new CallFailure("no-route", "nothing is known of the mesh's trust yet")
    let failure = new CallFailure("no-endpoint", `\`${choice.name}\` has no endpoints`)
    const { destination, cluster, endpoints } = choice
    for (let tries = 0; tries < Math.min(MAX_TRIES, endpoints.length); tries++) {
      const endpoint = endpoints.at(tries)
      if (endpoint === undefined) break
      const planned = planTransport(cluster, endpoint, current.credentials !== undefined)
      if (!planned.ok) {
        failure = new CallFailure("no-transport", planned.reason)
        continue
      }
      try {
        const result = await attempt(endpoint, planned.plan, current)
        health.succeeded(endpoint)
        destination?.outliers?.record(endpoint, "success", cluster.endpoints)
        return result
      } catch (error) {
        if (!(error instanceof ConnectFailure)) throw CallFailure.of(error)
        health.failed(endpoint)
        destination?.outliers?.record(endpoint, "gateway", cluster.endpoints)
        failure = new CallFailure(error.code, error.message)
      }
    }
    throw choice.panic ? new CallFailure(failure.code, `${failure.message} (no endpoint is healthy)`) : failure
  }
}

/** Node gives a request its connection when `createConnection` has made one, and sends nothing before that. */
function onSocket(request: ClientRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    request.once("socket", () => {
      request.off("error", reject)
      resolve()
    })
    request.once("error", reject)
  })
}

function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve)
    // Stays: an error without a listener would end the process.
    request.on("error", error => reject(CallFailure.of(error)))
    request.once("close", () =>
      reject(new CallFailure("cut-off", "the server closed the connection without an answer")),
    )
  })
  response.catch(() => undefined)
  return response
}
