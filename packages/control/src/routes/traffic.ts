// SPDX-License-Identifier: Apache-2.0
// What MeshServices say of time limits, retries, balancing, limits and ejection, in the form in which callers get it.

import type { TrafficPolicy } from "@merlon/policy/resources"
import type { ClusterTraffic } from "@merlon/xds"

/** Each field as the first policy says it that has it; undefined where none says anything. */
export function clusterTraffic(policies: readonly (TrafficPolicy | undefined)[]): ClusterTraffic | undefined {
  const loadBalancer = policies.map(policy => policy?.loadBalancer?.simple).find(kind => kind !== undefined)
  return loadBalancer === undefined ? undefined : { loadBalancer }
}
