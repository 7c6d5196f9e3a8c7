// SPDX-License-Identifier: Apache-2.0
// Timeouts, retries, load balancing, limits and ejection of MeshServices, in the form that clients receive.

import {
  type ConnectionPool,
  DEFAULT_RETRY_ON,
  type MeshRule,
  type OutlierDetection,
  type Retries,
  type TrafficPolicy,
} from "@merlon/policy/resources"
import { durationMilliseconds } from "@merlon/policy/shape"
import type { ClusterTraffic, ConnectionPoolSpec, OutlierDetectionSpec, RetrySpec, RouteTraffic } from "@merlon/xds"

/** The rule's settings, else the document's. */
export function routeTraffic(...settings: readonly Pick<MeshRule, "timeout" | "retries">[]): RouteTraffic {
  const timeout = settings.map(one => one.timeout).find(text => text !== undefined)
  const timeoutMs = timeout === undefined ? 0 : durationMilliseconds(timeout)
  const retries = settings.map(one => one.retries).find(one => one !== undefined)
  return {
    ...(timeoutMs === 0 || timeoutMs === undefined ? {} : { timeoutMs }),
    ...(retries === undefined ? {} : { retries: retrySpec(retries) }),
  }
}

function retrySpec({ attempts, perTryTimeout, retryOn, retryNonIdempotent = false }: Retries): RetrySpec {
  const perTryTimeoutMs = perTryTimeout === undefined ? undefined : durationMilliseconds(perTryTimeout)
  return {
    attempts,
    ...(perTryTimeoutMs === undefined ? {} : { perTryTimeoutMs }),
    retryOn: retryOn?.split(",").map(condition => condition.trim()) ?? DEFAULT_RETRY_ON,
    nonIdempotent: retryNonIdempotent,
  }
}

/** Each field comes from the first policy that has it; undefined if no policy sets anything. */
export function clusterTraffic(policies: readonly (TrafficPolicy | undefined)[]): ClusterTraffic | undefined {
  const loadBalancer = first(policies, policy => policy.loadBalancer?.simple)
  const pool = first(policies, policy => policy.connectionPool)
  const outliers = first(policies, policy => policy.outlierDetection)
  const traffic = defined({
    loadBalancer,
    connectionPool: pool && connectionPoolSpec(pool),
    outlierDetection: outliers && outlierDetectionSpec(outliers),
  })
  return Object.keys(traffic).length === 0 ? undefined : traffic
}

function connectionPoolSpec({ tcp = {}, http = {} }: ConnectionPool): ConnectionPoolSpec {
  return defined({
    maxConnections: tcp.maxConnections,
    connectTimeoutMs: milliseconds(tcp.connectTimeout),
    tcpIdleTimeoutMs: milliseconds(tcp.idleTimeout),
    maxPendingRequests: http.http1MaxPendingRequests,
    maxRequests: http.http2MaxRequests,
    maxRequestsPerConnection: http.maxRequestsPerConnection,
    idleTimeoutMs: milliseconds(http.idleTimeout),
  })
}

function outlierDetectionSpec(settings: OutlierDetection): OutlierDetectionSpec {
  const { consecutive5xxErrors, consecutiveGatewayErrors, maxEjectionPercent, minHealthPercent } = settings
  return defined({
    consecutive5xxErrors,
    consecutiveGatewayErrors,
    intervalMs: milliseconds(settings.interval),
    baseEjectionMs: milliseconds(settings.baseEjectionTime),
    maxEjectionPercent,
    minHealthPercent,
  })
}

function milliseconds(text: string | undefined): number | undefined {
  return text === undefined ? undefined : durationMilliseconds(text)
}

function first<T>(
  policies: readonly (TrafficPolicy | undefined)[],
  read: (policy: TrafficPolicy) => T | undefined,
): T | undefined {
  return policies.map(policy => policy && read(policy)).find(value => value !== undefined)
}

type Defined<T> = { readonly [key in keyof T]?: Exclude<T[key], undefined> }

/** Absent fields stay absent, so that routes without them do not change on the wire. */
function defined<T extends object>(fields: T): Defined<T> {
  // The entries are those of `fields`, without undefined values.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}
