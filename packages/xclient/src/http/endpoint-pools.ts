// SPDX-License-Identifier: Apache-2.0
// Connection pools for requests, one for each endpoint and transport. Requests to a proxy use HTTP/2 inside mTLS,
// whatever the program uses; requests to an endpoint without one use the program's version.

import { TLSSocket } from "node:tls"
import { Http1Pool, Http2Pool } from "@merlon/wire"
import type { Connect, Deadlines, HttpVersion, Upstream, UpstreamLimits, UpstreamObserver } from "@merlon/wire/http"
import type { ConnectionPoolSpec, ServiceEndpoint, TrustSpec } from "@merlon/xds"
import { messageOf } from "@merlon/xds/runtime"
import type { Destination } from "../balance/destination.js"
import { connectionKey } from "../connect/connection-key.js"
import type { Material } from "../connect/material.js"
import { openSocket } from "../connect/open-socket.js"
import type { TransportPlan } from "../connect/transport-plan.js"
import { VerifiedConnections } from "../connect/verified-connections.js"

/** A pool that has not been used for this long is closed. */
const FORGET_MS = 60_000
/** A machine that has vanished does not close its connections; a busy proxy answers within this time. */
const PROBE_AFTER_MS = 15_000

export interface EndpointPoolsOptions {
  readonly mesh: string
  readonly limits: UpstreamLimits
  readonly deadlines: Deadlines
  /** Time without a byte after which a proxy with requests in flight is pinged, and within which it must answer. */
  readonly probeAfterMs?: number | undefined
  readonly now?: () => number
}

interface Kept {
  readonly pool: Upstream
  lastUsed: number
  closed: boolean
  /** The error of the last failed connection attempt. */
  connectError: string | undefined
}

/**
 * The pool of an endpoint's last request: most requests use the same one, and finding one by its key costs a digest.
 */
interface Latest {
  readonly plan: TransportPlan
  readonly isHttp2: boolean
  readonly limits: ConnectionPoolSpec | undefined
  readonly kept: Kept
}

/** The destination whose limits a pool shares, and its name. */
export interface PoolOwner {
  readonly name: string
  readonly destination: Destination | undefined
}

export class EndpointPools {
  readonly #options: EndpointPoolsOptions
  readonly #now: () => number
  readonly #pools = new Map<string, Kept>()
  readonly #latest = new WeakMap<ServiceEndpoint, Latest>()
  readonly #verified = new VerifiedConnections()
  #material: number | undefined
  #swept = 0

  constructor(options: EndpointPoolsOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  poolFor(
    endpoint: ServiceEndpoint,
    plan: TransportPlan,
    material: Material,
    spoken: HttpVersion,
    owner: PoolOwner,
  ): Upstream {
    // Connections of other credentials or another trust bundle take no new requests.
    if (material.id !== this.#material) this.close()
    this.#material = material.id
    const now = this.#now()
    this.#sweep(now)
    const isHttp2 = plan.kind === "mutual" || spoken === "h2"
    const limits = owner.destination?.limits
    let latest = this.#latest.get(endpoint)
    if (
      latest === undefined ||
      latest.kept.closed ||
      latest.isHttp2 !== isHttp2 ||
      latest.limits !== limits ||
      !isSame(latest.plan, plan)
    ) {
      latest = { plan, isHttp2, limits, kept: this.#keptFor(endpoint, plan, material, isHttp2, owner) }
      this.#latest.set(endpoint, latest)
    }
    latest.kept.lastUsed = now
    return latest.kept.pool
  }

  #keptFor(
    endpoint: ServiceEndpoint,
    plan: TransportPlan,
    material: Material,
    isHttp2: boolean,
    { name, destination }: PoolOwner,
  ): Kept {
    const { connectTimeoutMs, idleTimeoutMs } = destination?.limits ?? {}
    // Connections that count for one destination are not used for another.
    const shared = destination?.limits && [name, connectTimeoutMs, idleTimeoutMs].join(" ")
    const key = `${isHttp2 ? "h2" : "http/1.1"} ${connectionKey(endpoint, plan)} ${shared ?? ""}`
    const found = this.#pools.get(key)
    if (found !== undefined) return found
    const observer: UpstreamObserver = {
      connectFailed: error => {
        kept.connectError = error === undefined ? undefined : reasonOf(error)
      },
    }
    const pool = this.#open(endpoint, plan, material, isHttp2, observer, destination)
    const kept: Kept = { pool, lastUsed: 0, closed: false, connectError: undefined }
    this.#pools.set(key, kept)
    return kept
  }

  /** The error of the last failed connection attempt to the endpoint. */
  connectError(endpoint: ServiceEndpoint): string | undefined {
    return this.#latest.get(endpoint)?.kept.connectError
  }

  /** The trust bundle changed: ends connections to servers that are no longer trusted. */
  trustChanged(trust: TrustSpec): void {
    this.#verified.recheck(trust)
  }

  /** Closes idle connections; requests in flight may finish. */
  close(): void {
    for (const [key, kept] of this.#pools) this.#end(key, kept)
  }

  #open(
    endpoint: ServiceEndpoint,
    plan: TransportPlan,
    material: Material,
    isHttp2: boolean,
    observer: UpstreamObserver,
    destination: Destination | undefined,
  ): Upstream {
    const { mesh, limits, deadlines } = this.#options
    const { connectTimeoutMs, idleTimeoutMs: keepAliveTimeoutMs = limits.keepAliveTimeoutMs } =
      destination?.limits ?? {}
    const timeoutMs = connectTimeoutMs ?? limits.connectTimeoutMs
    const alpn = [`${mesh}-h2`]
    const open: Connect = ({ allowHalfOpen }) => {
      const socket = openSocket({ endpoint, plan, material, alpn, timeoutMs, allowHalfOpen })
      if (plan.kind === "mutual") socket.once("secureConnect", () => this.#verified.add(socket, plan.identities))
      return socket
    }
    const connect = connectTimeoutMs === undefined ? open : withinTime(open, connectTimeoutMs)
    // The pool retries nothing: only the exchange decides what is sent again.
    const shared = destination?.limits && destination
    const bounds = { ...limits, connectTimeoutMs: timeoutMs, keepAliveTimeoutMs }
    // Only our own proxies are pinged: many gRPC servers disconnect a client that pings more often than every five
    // minutes.
    const probing = plan.kind === "mutual" ? { probeAfterMs: this.#options.probeAfterMs ?? PROBE_AFTER_MS } : {}
    const watched = { connect, limits: bounds, deadlines, observer, ...probing }
    const options = { ...watched, retries: false, ...(shared && { shared }) }
    return isHttp2 ? new Http2Pool(options) : new Http1Pool(options)
  }

  #sweep(now: number): void {
    if (now - this.#swept < FORGET_MS) return
    this.#swept = now
    for (const [key, kept] of this.#pools) if (now - kept.lastUsed >= FORGET_MS) this.#end(key, kept)
  }

  #end(key: string, kept: Kept): void {
    kept.closed = true
    void kept.pool.close()
    this.#pools.delete(key)
  }
}

/** Precise to the millisecond; the deadlines of a pool are coarser. */
function withinTime(open: Connect, limitMs: number): Connect {
  return options => {
    const socket = open(options)
    const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${limitMs} ms`)), limitMs)
    const stop = (): void => clearTimeout(timer)
    socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", stop)
    socket.once("close", stop)
    return socket
  }
}

/** With several addresses, each has its own error. */
function reasonOf(error: Error): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join("; ") : messageOf(error)
}

/** By reference: a change of the expected identities comes with a new list. */
function isSame(a: TransportPlan, b: TransportPlan): boolean {
  if (a.kind === "plaintext" || b.kind === "plaintext") return a.kind === b.kind
  return a.sni === b.sni && a.identities === b.identities
}
