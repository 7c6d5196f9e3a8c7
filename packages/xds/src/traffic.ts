// SPDX-License-Identifier: Apache-2.0
// How callers treat a route and a destination: time limits, retries and balancing. As a MeshService says it, with durations in
// milliseconds; what is absent has the caller's default.

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

export interface ClusterTraffic {
  readonly loadBalancer?: LoadBalancer
}

/** All of it for one host, as it is sent. */
export interface TrafficSpec {
  /** By the place of the route in its table. */
  readonly routes: readonly RouteTraffic[]
  /** By name. */
  readonly clusters: { readonly [name: string]: ClusterTraffic }
}

/** INVARIANT: no tenant's value makes a caller wait for longer, or try more often, than these. */
export const MAX_TIMEOUT_MS = 3_600_000
export const MAX_RETRIES = 10
const MAX_CONDITIONS = 32

// Newer writers may say more: fields that this version does not know are left out.
const milliseconds = whole(1, MAX_TIMEOUT_MS)

const retries = openObject<RetrySpec>({
  attempts: whole(0, MAX_RETRIES),
  perTryTimeoutMs: optional(milliseconds),
  retryOn: list(MAX_CONDITIONS, text(64)),
  nonIdempotent: flag,
})

const clusterTraffic = openObject<ClusterTraffic>({
  loadBalancer: optional(choice(...LOAD_BALANCERS)),
})

export const trafficSpec: Read<TrafficSpec> = openObject<TrafficSpec>({
  routes: list(256, openObject<RouteTraffic>({ timeoutMs: optional(milliseconds), retries: optional(retries) })),
  clusters: record(4_096, clusterTraffic),
})
