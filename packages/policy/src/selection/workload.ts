// SPDX-License-Identifier: Apache-2.0
// What a policy selects: a workload in a namespace, identified by its labels.

import { GATEWAY_TARGET_KINDS, type MeshNames } from "../mesh/names.js"
import type { TargetRef, WorkloadSelector } from "../resources/common.js"
import type { Metadata } from "../resources/document.js"

export interface Workload {
  readonly namespace: string
  readonly name: string
  readonly labels: { readonly [key: string]: string }
  /** Names of the Services in its namespace that select it; absent if they were not looked up. */
  readonly services?: readonly string[]
  /** Only in Istio: the Gateway whose proxy the workload is. Absent for sidecars. */
  readonly gateway?: IstioGateway
}

/** The proxy of a Gateway in Istio, as policies see it. */
export interface IstioGateway {
  readonly name: string
  readonly isWaypoint: boolean
  /** What requests at a waypoint are for. Absent for requests to addresses of Pods. */
  readonly target?: { readonly kind: "Service" | "ServiceEntry"; readonly namespace: string; readonly name: string }
}

/** An absent or empty selector selects every workload in scope. */
export function selects(selector: WorkloadSelector | undefined, workload: Workload): boolean {
  for (const [key, value] of Object.entries(selector?.matchLabels ?? {})) {
    if (!Object.hasOwn(workload.labels, key) || workload.labels[key] !== value) return false
  }
  return true
}

/** A target as text: the name of a Service, or kind and name of a Gateway or route. */
export function targetKey({ kind, name }: Pick<TargetRef, "kind" | "name">): string {
  return kind === "Service" ? name : `${kind}/${name}`
}

/** The targets in its namespace that lead to the workload, in the notation of `targetKey`. */
export function targetsBefore({ services = [], labels }: Workload, { gatewayLabels }: MeshNames): readonly string[] {
  const decidesFor = GATEWAY_TARGET_KINDS.flatMap(kind => {
    const label = gatewayLabels[kind]
    const name = Object.hasOwn(labels, label) ? labels[label] : undefined
    return name === undefined || name === "" ? [] : [targetKey({ kind, name })]
  })
  return decidesFor.length === 0 ? services : [...services, ...decidesFor]
}

/**
 * Whether one of the targets leads to the workload. Targets are in the policy's namespace, so the workload must be too.
 */
export function isBehind(targets: readonly TargetRef[], workload: Workload, names: MeshNames): boolean {
  const before = targetsBefore(workload, names)
  return targets.some(target => before.includes(targetKey(target)))
}

export function hasLabels(selector: WorkloadSelector | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length > 0
}

/** Older first; timestamps count whole seconds, so name and namespace break the tie. */
export function byAge(a: { readonly metadata: Metadata }, b: { readonly metadata: Metadata }): number {
  const age = created(a.metadata) - created(b.metadata)
  if (age !== 0) return age
  return compareText(a.metadata.name, b.metadata.name) || compareText(a.metadata.namespace, b.metadata.namespace)
}

// A document that no server has stored yet has no creation time and counts as the newest.
function created({ creationTimestamp }: Metadata): number {
  const time = creationTimestamp === undefined ? Number.NaN : Date.parse(creationTimestamp)
  return Number.isNaN(time) ? Number.MAX_SAFE_INTEGER : time
}

export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
