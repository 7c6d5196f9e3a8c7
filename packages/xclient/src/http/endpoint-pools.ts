// SPDX-License-Identifier: Apache-2.0
// Pools of connections for requests, one for each endpoint and way to speak to it. To a proxy requests travel over HTTP/2 inside
// mutual TLS, whatever the program speaks; to an endpoint without one, in the version that the program chose.

import { Http1Pool, Http2Pool } from "@merlon/wire"
import type { Deadlines, HttpVersion, Upstream, UpstreamLimits } from "@merlon/wire/http"
import type { ServiceEndpoint } from "@merlon/xds"
import { connectionKey } from "../connect/connection-pool.js"
import type { Material } from "../connect/material.js"
import { openSocket } from "../connect/open-socket.js"
import type { TransportPlan } from "../connect/transport-plan.js"

/** A pool that has not been used for so long is closed. */
const FORGET_MS = 60_000

export interface EndpointPoolsOptions {
  readonly mesh: string
  readonly limits: UpstreamLimits
  readonly deadlines: Deadlines
  readonly now?: () => number
}

interface Kept {
  readonly pool: Upstream
  lastUsed: number
}

export class EndpointPools {
  readonly #options: EndpointPoolsOptions
  readonly #now: () => number
  readonly #pools = new Map<string, Kept>()
  #material: number | undefined
  #swept = 0

  constructor(options: EndpointPoolsOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  poolFor(endpoint: ServiceEndpoint, plan: TransportPlan, material: Material, spoken: HttpVersion): Upstream {
    // Connections that were made with other credentials, or under other trust, take no new request.
    if (material.id !== this.#material) this.close()
    this.#material = material.id
    this.#sweep()
    const isHttp2 = plan.kind === "mutual" || spoken === "h2"
    const key = `${isHttp2 ? "h2" : "http/1.1"} ${connectionKey(endpoint, plan)}`
    let kept = this.#pools.get(key)
    if (kept === undefined) {
      kept = { pool: this.#open(endpoint, plan, material, isHttp2), lastUsed: 0 }
      this.#pools.set(key, kept)
    }
    kept.lastUsed = this.#now()
    return kept.pool
  }

  /** Ends what is idle; requests under way may finish. */
  close(): void {
    for (const { pool } of this.#pools.values()) void pool.close()
    this.#pools.clear()
  }

  #open(endpoint: ServiceEndpoint, plan: TransportPlan, material: Material, isHttp2: boolean): Upstream {
    const { mesh, limits, deadlines } = this.#options
    const connect = ({ allowHalfOpen }: { readonly allowHalfOpen: boolean }) =>
      openSocket({ endpoint, plan, material, alpn: [`${mesh}-h2`], timeoutMs: limits.connectTimeoutMs, allowHalfOpen })
    return isHttp2 ? new Http2Pool({ connect, limits, deadlines }) : new Http1Pool({ connect, limits, deadlines })
  }

  #sweep(): void {
    const now = this.#now()
    if (now - this.#swept < FORGET_MS) return
    this.#swept = now
    for (const [key, { pool, lastUsed }] of this.#pools) {
      if (now - lastUsed < FORGET_MS) continue
      void pool.close()
      this.#pools.delete(key)
    }
  }
}
