// SPDX-License-Identifier: Apache-2.0
// Which policies Istio attaches to a proxy. Sidecars ignore policies with targets. The proxy of a Gateway takes policies
// that target it, and those that select its Pods by labels or by namespace. A waypoint takes only policies with targets:
// its Gateway, its GatewayClass, or the Service or ServiceEntry that the request is for.

import { selects, targetKey, type Workload } from "./workload.js"

/** The GatewayClass of all waypoints. Policies of the root namespace may target it. */
export const WAYPOINT_CLASS = "istio-waypoint"

export interface Attachment {
  /** Undefined for a policy without targets that applies to the whole mesh. */
  readonly namespace: string | undefined
  readonly labels: { readonly [key: string]: string }
  /** In the notation of `targetKey`; undefined if the policy has no targets. */
  readonly targets: readonly string[] | undefined
}

export function attachesInIstio({ namespace, labels, targets }: Attachment, to: Workload, root: string): boolean {
  const { gateway } = to
  if (targets === undefined) {
    const isInScope = namespace === undefined || namespace === root || namespace === to.namespace
    return isInScope && gateway?.isWaypoint !== true && selects({ matchLabels: labels }, to)
  }
  if (gateway === undefined) return false
  const { name, isWaypoint, target } = gateway
  const isOf = (kind: string, its: string, place: string): boolean =>
    namespace === place && targets.includes(targetKey({ kind, name: its }))
  return (
    isOf("Gateway", name, to.namespace) ||
    (isWaypoint && isOf("GatewayClass", WAYPOINT_CLASS, root)) ||
    (isWaypoint && target !== undefined && isOf(target.kind, target.name, target.namespace))
  )
}

/** The namespaces whose policies can apply to the workload. */
export function namespacesOf({ namespace, gateway }: Workload, root: string): ReadonlySet<string> {
  return new Set([namespace, root, ...(gateway?.target === undefined ? [] : [gateway.target.namespace])])
}
