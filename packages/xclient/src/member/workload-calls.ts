// SPDX-License-Identifier: Apache-2.0
// The calls of one workload: the routes it needs, its connections, and their credentials and trust. The owner of the
// stream to the control plane feeds it.

import type { ServiceCluster, TrustSpec } from "@merlon/xds"
import type { WorkloadCredentials } from "@merlon/xds/client"
import type { Log } from "@merlon/xds/runtime"
import { Destinations } from "../balance/destination.js"
import { EndpointHealth } from "../balance/endpoint-health.js"
import type { Ejection } from "../balance/outlier-detector.js"
import { Outbound } from "../call/outbound.js"
import { RequestCalls } from "../http/request-calls.js"
import type { CallObserver } from "../observe/call-record.js"
import { authorityOf } from "../routes/authority.js"
import { KnownRoutes } from "../routes/known-routes.js"
import type { OutboundPolicy } from "../routes/outbound-policy.js"
import { CurrentMaterial } from "./current-material.js"

export interface WorkloadCallsOptions {
  /** The name of the mesh, for ALPN. */
  readonly mesh: string
  /** Limit for TCP and TLS together, per endpoint. */
  readonly connectTimeoutMs?: number
  /** See EndpointPools. */
  readonly probeAfterMs?: number | undefined
  readonly credentials: () => WorkloadCredentials | undefined
  /** Called when the names in `knownRoutes.subscription` have changed. */
  readonly resubscribe: () => void
  readonly log: Log
  /** Receives every request. */
  readonly observer?: CallObserver
  /** Set for captured connections: what to do with destinations without routes. */
  readonly policy?: OutboundPolicy | undefined
  /** Called when the mesh trusts other roots, or revokes other certificates. */
  readonly trustChanged?: (trust: TrustSpec) => void
}

export const CONNECT_TIMEOUT_MS = 10_000
/** A destination that was not called for an hour is no longer followed, and is requested again when it is called. */
const UNUSED_MS = 3_600_000
const SWEEP_MS = 60_000

export class WorkloadCalls {
  readonly knownRoutes: KnownRoutes
  readonly outbound: Outbound
  readonly requests: RequestCalls
  readonly #options: WorkloadCallsOptions
  readonly #material = new CurrentMaterial()
  readonly #sweep: NodeJS.Timeout

  constructor(options: WorkloadCallsOptions) {
    const { mesh, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
    const health = new EndpointHealth()
    this.#options = options
    const { resubscribe, policy } = options
    const destinations = new Destinations((cluster, ejection) => this.#ejected(cluster, ejection))
    this.knownRoutes = new KnownRoutes({
      health,
      destinations,
      resubscribe,
      onTrust: trust => this.#trust(trust),
      policy,
    })
    this.#sweep = setInterval(() => this.knownRoutes.forgetUnused(UNUSED_MS), SWEEP_MS).unref()
    const material = () => this.#material.with(options.credentials())
    this.requests = new RequestCalls({
      ...{ mesh, health, material, connectTimeoutMs, probeAfterMs: options.probeAfterMs },
      ...(options.observer && { observer: options.observer }),
    })
    this.outbound = new Outbound({
      health,
      material,
      tunnelAlpn: [mesh],
      connectTimeoutMs,
    })
  }

  get trust(): TrustSpec | undefined {
    return this.#material.trust
  }

  /** Closes idle connections; calls in flight may finish. */
  close(): void {
    clearInterval(this.#sweep)
    this.requests.close()
  }

  #ejected({ host, port }: ServiceCluster, { endpoint, reason, forMs }: Ejection): void {
    const { log, observer } = this.#options
    const { workload, address } = endpoint
    const destination = authorityOf(host, port)
    const where = { destination, workload, endpoint: authorityOf(address, endpoint.port) }
    log.warn({ ...where, reason, seconds: forMs / 1_000 }, "an endpoint is ejected: it failed several times in a row")
    observer?.ejected({ destination, workload, reason })
  }

  #trust(trust: TrustSpec): void {
    if (!this.#material.setTrust(trust)) return
    this.outbound.trustChanged(trust)
    this.requests.trustChanged(trust)
    this.#options.trustChanged?.(trust)
  }
}
