// SPDX-License-Identifier: Apache-2.0
// The requests of the workload: each is routed, balanced over the reachable endpoints, and sent on pooled connections.

import type { Socket } from "node:net"
import { Deadlines, type LocalReply, type UpstreamLimits } from "@merlon/wire/http"
import type { TrustSpec } from "@merlon/xds"
import type { EndpointHealth } from "../balance/endpoint-health.js"
import { CallFailure } from "../call/call-failure.js"
import type { Material } from "../connect/material.js"
import { planTransport } from "../connect/transport-plan.js"
import { type CallObserver, UNOBSERVED } from "../observe/call-record.js"
import { ObservedRequest } from "../observe/observed-request.js"
import { authorityOf } from "../routes/authority.js"
import type { HostRouting } from "../routes/host-routing.js"
import { Attempt } from "./attempt.js"
import { EndpointPools } from "./endpoint-pools.js"
import { type OwnRequest, type OwnResponse, ownCall } from "./own-call.js"
import { type RequestRouter, RoutedExchange } from "./routed-exchange.js"
import { DOWNSTREAM_LIMITS, type MakeExchange, WorkloadConnections } from "./workload-connection.js"

export interface RequestCallsOptions {
  readonly mesh: string
  readonly health: EndpointHealth
  readonly material: () => Material | undefined
  readonly connectTimeoutMs: number
  readonly observer?: CallObserver
  /** See EndpointPools. */
  readonly probeAfterMs?: number | undefined
}

const UPSTREAM_LIMITS: Omit<UpstreamLimits, "connectTimeoutMs"> = {
  headerBytes: 64 * 1024,
  headerLines: 200,
  // All requests are from the same workload.
  callerSharePercent: 100,
  upstreamConnections: 1_024,
  pendingRequests: 1_024,
  upstreamStreams: 10_000,
  // The program decides how long a response may take.
  responseTimeoutMs: 0,
  // Shorter than xserver's timeout for idle connections, so that the server is rarely the one to close first.
  keepAliveTimeoutMs: 30_000,
}

/** Suffices for plaintext only. */
const NO_MATERIAL: Material = {
  id: 0,
  credentials: undefined,
  trust: { bundle: "", signer: "", revokedIdentities: [], revokedSerials: [] },
}

export class RequestCalls {
  readonly #options: RequestCallsOptions
  readonly #pools: EndpointPools
  readonly #connections: WorkloadConnections

  constructor(options: RequestCallsOptions) {
    const { mesh, connectTimeoutMs } = options
    const limits = { ...UPSTREAM_LIMITS, connectTimeoutMs }
    const deadlines = new Deadlines({ ...DOWNSTREAM_LIMITS, ...limits })
    this.#options = options
    this.#pools = new EndpointPools({ mesh, limits, deadlines, probeAfterMs: options.probeAfterMs })
    this.#connections = new WorkloadConnections(deadlines)
  }

  /** Serves the requests of a connection until it closes. `head`: bytes that were already read. */
  serve(socket: Socket, version: "http1" | "http2", head: Buffer, routing: HostRouting, failed: FailureSink): void {
    const router = this.routerTo(routing, failed)
    this.#connections.serve(
      socket,
      version,
      head,
      (request, responder) => new RoutedExchange(router, responder, request),
    )
  }

  /** Serves a connection whose requests name their own destinations, or open tunnels with CONNECT. */
  serveProxied(socket: Socket, exchange: MakeExchange): void {
    this.#connections.serve(socket, "http1", Buffer.alloc(0), exchange, true)
  }

  /** Answers the first request of a connection with the failure, and ends the connection. */
  reject(socket: Socket, version: "http1" | "http2", head: Buffer, destination: string, failure: CallFailure): void {
    const { mesh, observer = UNOBSERVED } = this.#options
    const to = { destination, inMesh: false, decisionHeader: `x-${mesh}-decision` }
    const fail = (): never => {
      throw failure
    }
    const failed = (): LocalReply => {
      queueMicrotask(() => connection.drain())
      return replyTo(failure, mesh)
    }
    const router: RequestRouter = {
      observe: request => new ObservedRequest(observer, to, request),
      ...{
        choose: fail,
        send: fail,
        attempt: fail,
        failureHeader: `x-${this.#options.mesh}-failure`,
        connectError: () => undefined,
        failed,
      },
    }
    const exchange: MakeExchange = (request, responder) => new RoutedExchange(router, responder, request)
    const connection = this.#connections.serve(socket, version, head, exchange)
  }

  /** Sends a request of our own. Rejects with a CallFailure. */
  send(routing: HostRouting, request: OwnRequest, timeoutMs: number): Promise<OwnResponse> {
    return ownCall(
      this.routerTo(routing, () => undefined),
      request,
      timeoutMs,
    )
  }

  /** Closes the workload's connections after their current response. */
  drain(): void {
    this.#connections.drain()
  }

  /** The trust bundle changed: ends connections to servers that are no longer trusted, with the requests on them. */
  trustChanged(trust: TrustSpec): void {
    this.#pools.trustChanged(trust)
  }

  close(): void {
    this.#pools.close()
  }

  /** `inMesh`: if false, requests are forwarded as the program wrote them. */
  routerTo(routing: HostRouting, failed: FailureSink, inMesh = !routing.isOutsideMesh): RequestRouter {
    const { health, material, mesh, observer = UNOBSERVED } = this.#options
    const { host, port } = routing.spec.table
    const to = { destination: authorityOf(host, port), inMesh, decisionHeader: `x-${mesh}-decision` }
    return {
      observe: head => new ObservedRequest(observer, to, head),
      choose: call => {
        const choice = routing.choose(call)
        if (choice !== undefined) return choice
        // Without the query, which may contain a token: this text goes into logs.
        const [path] = call.target.split("?", 1)
        throw new CallFailure("no-route", `no route of ${routing.spec.table.host} matches ${call.method} ${path}`)
      },
      send: ({ cluster, destination }, endpoint, request, { version }, listener, observed) => {
        const current = material()
        const planned = planTransport(cluster, endpoint, current === undefined || current.credentials !== undefined)
        if (!planned.ok) throw new CallFailure("no-transport", planned.reason)
        if (current === undefined && planned.plan.kind === "mutual")
          throw new CallFailure("no-route", "the trust bundle has not arrived yet")
        observed.sent(endpoint, planned.plan.kind === "mutual" ? "mtls" : inMesh ? "plaintext" : "passthrough")
        const owner = { name: cluster.name, destination }
        const pool = this.#pools.poolFor(endpoint, planned.plan, current ?? NO_MATERIAL, version, owner)
        return pool.send(request, listener)
      },
      failureHeader: `x-${mesh}-failure`,
      attempt: ({ cluster, destination }, endpoint) =>
        new Attempt(endpoint, health, outcome => destination?.outliers?.record(endpoint, outcome, cluster.endpoints)),
      connectError: endpoint => this.#pools.connectError(endpoint),
      failed: failure => {
        failed(failure)
        return replyTo(failure, mesh)
      },
    }
  }
}

/** Receives the failures of requests without a response. */
export type FailureSink = (failure: CallFailure) => void

function replyTo({ status, code, message }: CallFailure, mesh: string): LocalReply {
  return { status, body: `${message}\n`, fields: [[`x-${mesh}-failure`, code]] }
}
