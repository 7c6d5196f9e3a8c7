// SPDX-License-Identifier: Apache-2.0
// What MeshServices say of time limits, retries, balancing, limits and ejection, in the form in which callers get it.

import { DEFAULT_RETRY_ON, type MeshRule, type Retries, type TrafficPolicy } from "@merlon/policy/resources"
import { durationMilliseconds } from "@merlon/policy/shape"
import type { ClusterTraffic, RetrySpec, RouteTraffic } from "@merlon/xds"

/** A rule's own word, else the document's. */
export function routeTraffic(...said: readonly Pick<MeshRule, "timeout" | "retries">[]): RouteTraffic {
  const timeout = said.map(one => one.timeout).find(text => text !== undefined)
  const timeoutMs = timeout === undefined ? 0 : durationMilliseconds(timeout)
  const retries = said.map(one => one.retries).find(one => one !== undefined)
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

/** Each field as the first policy says it that has it; undefined where none says anything. */
export function clusterTraffic(policies: readonly (TrafficPolicy | undefined)[]): ClusterTraffic | undefined {
  const loadBalancer = policies.map(policy => policy?.loadBalancer?.simple).find(kind => kind !== undefined)
  return loadBalancer === undefined ? undefined : { loadBalancer }
}
