// SPDX-License-Identifier: Apache-2.0
// How callers treat a route and a destination: time limits, retries, balancing, limits of connections and requests,
// ejection of failing endpoints. As in a MeshService, with durations in milliseconds; absent fields have the caller's
// default.

import { choice, flag, list, openObject, optional, type Read, record, text, whole } from "@merlon/policy/shape"

export const LOAD_BALANCERS = ["LEAST_REQUEST", "ROUND_ROBIN", "RANDOM"] as const
export type LoadBalancer = (typeof LOAD_BALANCERS)[number]

export interface RetrySpec {
  /** Beyond the first try. */
  readonly attempts: number
  readonly perTryTimeoutMs?: number
  /** Conditions by their names in `retryOn`. */
  readonly retryOn: readonly string[]
  /** Whether requests whose method is not idempotent are retried too. */
  readonly nonIdempotent: boolean
}

export interface RouteTraffic {
  /** From the end of the request to the end of the response, all tries together. */
  readonly timeoutMs?: number
  readonly retries?: RetrySpec
}

/** What one caller may have under way to a destination, all its endpoints together. */
export interface ConnectionPoolSpec {
  readonly maxConnections?: number
  readonly connectTimeoutMs?: number
  /** Of connections that carry bytes. */
  readonly tcpIdleTimeoutMs?: number
  /** Requests that wait for a connection. */
  readonly maxPendingRequests?: number
  readonly maxRequests?: number
  /** 0 is any number. */
  readonly maxRequestsPerConnection?: number
  /** How long a connection without requests is kept. */
  readonly idleTimeoutMs?: number
}

export interface OutlierDetectionSpec {
  /** 0 is off. */
  readonly consecutive5xxErrors?: number
  /** 0 is off. */
  readonly consecutiveGatewayErrors?: number
  /** After each of these without an ejection, one earlier ejection is forgotten. */
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

/** All of it for one host, as it is sent. */
export interface TrafficSpec {
  /** By the place of the route in its table. */
  readonly routes: readonly RouteTraffic[]
  /** By name. */
  readonly clusters: { readonly [name: string]: ClusterTraffic }
}

/** INVARIANT: no tenant's value makes a caller wait for longer, or try more often, than these. */
const MAX_TIMEOUT_MS = 3_600_000
const MAX_RETRIES = 10
const MAX_COUNT = 2_147_483_647
const MAX_CONDITIONS = 32

// Newer writers may say more: fields that this version does not know are left out.
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
