// SPDX-License-Identifier: Apache-2.0
// How callers treat a route and a destination: timeouts, retries, load balancing, limits of connections and requests,
// outlier detection. As in a MeshService, with durations in milliseconds. For absent fields the caller's defaults
// apply.

import { choice, flag, list, openObject, optional, type Read, record, text, whole } from "@merlon/policy/shape"

export const LOAD_BALANCERS = ["LEAST_REQUEST", "ROUND_ROBIN", "RANDOM"] as const
export type LoadBalancer = (typeof LOAD_BALANCERS)[number]

export interface RetrySpec {
  /** Number of retries after the first attempt. */
  readonly attempts: number
  readonly perTryTimeoutMs?: number
  /** Conditions, under their names in `retryOn`. */
  readonly retryOn: readonly string[]
  /** Whether requests with methods that are not idempotent are retried too. */
  readonly nonIdempotent: boolean
}

export interface RouteTraffic {
  /** From the end of the request to the end of the response, over all attempts. */
  readonly timeoutMs?: number
  readonly retries?: RetrySpec
}

/** Limits on one caller's connections and requests to a destination, over all its endpoints. */
export interface ConnectionPoolSpec {
  readonly maxConnections?: number
  readonly connectTimeoutMs?: number
  /** For connections that carry opaque bytes. */
  readonly tcpIdleTimeoutMs?: number
  /** Requests that wait for a connection. */
  readonly maxPendingRequests?: number
  readonly maxRequests?: number
  /** 0 means no limit. */
  readonly maxRequestsPerConnection?: number
  /** How long a connection without requests is kept open. */
  readonly idleTimeoutMs?: number
}

export interface OutlierDetectionSpec {
  /** 0 turns it off. */
  readonly consecutive5xxErrors?: number
  /** 0 turns it off. */
  readonly consecutiveGatewayErrors?: number
  /** After each interval without an ejection, one earlier ejection is forgotten. */
  readonly intervalMs?: number
  readonly baseEjectionMs?: number
  readonly maxEjectionPercent?: number
  readonly minHealthPercent?: number
}

export interface ClusterTraffic {
  readonly loadBalancer?: LoadBalancer
  readonly connectionPool?: ConnectionPoolSpec
  readonly outlierDetection?: OutlierDetectionSpec
}

/** All traffic settings of one host, as they are sent. */
export interface TrafficSpec {
  /** By the index of the route in its table. */
  readonly routes: readonly RouteTraffic[]
  /** By cluster name. */
  readonly clusters: { readonly [name: string]: ClusterTraffic }
}

/** INVARIANT: no tenant's value makes a caller wait longer, or retry more often, than these. */
const MAX_TIMEOUT_MS = 3_600_000
const MAX_RETRIES = 10
const MAX_COUNT = 2_147_483_647
const MAX_CONDITIONS = 32

// Newer versions may send more: unknown fields are ignored.
const milliseconds = whole(1, MAX_TIMEOUT_MS)

const retries = openObject<RetrySpec>({
  attempts: whole(0, MAX_RETRIES),
  perTryTimeoutMs: optional(milliseconds),
  retryOn: list(MAX_CONDITIONS, text(64)),
  nonIdempotent: flag,
})

const count = whole(0, MAX_COUNT)
const percent = whole(0, 100)

const connectionPool = openObject<ConnectionPoolSpec>({
  maxConnections: optional(whole(1, MAX_COUNT)),
  connectTimeoutMs: optional(milliseconds),
  tcpIdleTimeoutMs: optional(milliseconds),
  maxPendingRequests: optional(count),
  maxRequests: optional(whole(1, MAX_COUNT)),
  maxRequestsPerConnection: optional(count),
  idleTimeoutMs: optional(milliseconds),
})

const outlierDetection = openObject<OutlierDetectionSpec>({
  consecutive5xxErrors: optional(count),
  consecutiveGatewayErrors: optional(count),
  intervalMs: optional(milliseconds),
  baseEjectionMs: optional(milliseconds),
  maxEjectionPercent: optional(percent),
  minHealthPercent: optional(percent),
})

const clusterTraffic = openObject<ClusterTraffic>({
  loadBalancer: optional(choice(...LOAD_BALANCERS)),
  connectionPool: optional(connectionPool),
  outlierDetection: optional(outlierDetection),
})

export const trafficSpec: Read<TrafficSpec> = openObject<TrafficSpec>({
  routes: list(256, openObject<RouteTraffic>({ timeoutMs: optional(milliseconds), retries: optional(retries) })),
  clusters: record(4_096, clusterTraffic),
})
