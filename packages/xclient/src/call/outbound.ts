// SPDX-License-Identifier: Apache-2.0
// Opens a connection through the mesh for opaque bytes: route, destination, endpoint. An endpoint that cannot be
// reached is skipped for a while, and the next one is tried.

import type { Socket } from "node:net"
import type { ServiceEndpoint, TrustSpec } from "@merlon/xds"
import type { EndpointHealth } from "../balance/endpoint-health.js"
import { ConnectFailure, connect } from "../connect/connect.js"
import type { Material } from "../connect/material.js"
import { planTransport, type TransportPlan } from "../connect/transport-plan.js"
import { VerifiedConnections } from "../connect/verified-connections.js"
import type { Choice, HostRouting } from "../routes/host-routing.js"
import { CallFailure } from "./call-failure.js"

export interface OutboundOptions {
  readonly health: EndpointHealth
  readonly material: () => Material | undefined
  /** The ALPN protocols that tunnels offer. */
  readonly tunnelAlpn: readonly string[]
  readonly connectTimeoutMs: number
}

export interface Tunnel {
  readonly choice: Choice
  readonly endpoint: ServiceEndpoint
  readonly socket: Socket
}

export const MAX_TRIES = 3

export class Outbound {
  readonly #options: OutboundOptions
  readonly #tunnels = new VerifiedConnections()

  constructor(options: OutboundOptions) {
    this.#options = options
  }

  /** A connection for opaque bytes. It uses only routes that match every request. */
  tunnel(routing: HostRouting): Promise<Tunnel> {
    const choice = routing.chooseForBytes()
    if (choice === undefined) {
      const { host } = routing.spec.table
      return Promise.reject(
        new CallFailure("no-route", `no route of ${host} matches all requests, which a tunnel requires`),
      )
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

  /** The trust bundle changed: ends tunnels to servers that are no longer trusted. */
  trustChanged(trust: TrustSpec): void {
    this.#tunnels.recheck(trust)
  }

  async #try<T>(
    choice: Choice,
    attempt: (endpoint: ServiceEndpoint, plan: TransportPlan, material: Material) => Promise<T>,
  ): Promise<T> {
    const { health, material } = this.#options
    const current = material()
    if (current === undefined) throw new CallFailure("no-route", "the trust bundle has not arrived yet")
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
