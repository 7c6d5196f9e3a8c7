// SPDX-License-Identifier: Apache-2.0
// The calls of one workload: the routes it asks for, the connections it keeps, and the credentials and trust they are made
// with. The owner of the stream to the control plane feeds it.

import type { TrustSpec } from "@merlon/xds"
import type { WorkloadCredentials } from "@merlon/xds/client"
import { EndpointHealth } from "../balance/endpoint-health.js"
import { Outbound } from "../call/outbound.js"
import { ConnectionPool } from "../connect/connection-pool.js"
import { RequestCalls } from "../http/request-calls.js"
import type { CallObserver } from "../observe/call-record.js"
import { RouteBook } from "../routes/route-book.js"
import { CurrentMaterial } from "./current-material.js"

export interface WorkloadCallsOptions {
  /** The name of the mesh, for ALPN. */
  readonly mesh: string
  /** For TCP and TLS together, per endpoint. */
  readonly connectTimeoutMs?: number
  readonly credentials: () => WorkloadCredentials | undefined
  /** Called when other routes are wanted: `book.subscription` has other names now. */
  readonly resubscribe: () => void
  /** Told of every request. */
  readonly observer?: CallObserver
  /** Called when the mesh trusts other roots, or revokes others. */
  readonly trustChanged?: (trust: TrustSpec) => void
}

export const CONNECT_TIMEOUT_MS = 5_000

export class WorkloadCalls {
  readonly book: RouteBook
  readonly outbound: Outbound
  readonly requests: RequestCalls
  readonly #options: WorkloadCallsOptions
  readonly #pool: ConnectionPool
  readonly #material = new CurrentMaterial()

  constructor(options: WorkloadCallsOptions) {
    const { mesh, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
    const health = new EndpointHealth()
    this.#options = options
    this.#pool = new ConnectionPool({ alpn: [`${mesh}-http/1.1`], connectTimeoutMs })
    this.book = new RouteBook({ health, resubscribe: options.resubscribe, onTrust: trust => this.#trust(trust) })
    const material = () => this.#material.with(options.credentials())
    this.requests = new RequestCalls({
      ...{ mesh, health, material, connectTimeoutMs },
      ...(options.observer && { observer: options.observer }),
    })
    this.outbound = new Outbound({
      pool: this.#pool,
      health,
      material,
      tunnelAlpn: [mesh],
      connectTimeoutMs,
    })
  }

  get trust(): TrustSpec | undefined {
    return this.#material.trust
  }

  /** Ends what is idle; calls under way may finish. */
  close(): void {
    this.#pool.close()
    this.requests.close()
  }

  #trust(trust: TrustSpec): void {
    if (!this.#material.setTrust(trust)) return
    this.outbound.trustChanged(trust)
    this.#options.trustChanged?.(trust)
  }
}
