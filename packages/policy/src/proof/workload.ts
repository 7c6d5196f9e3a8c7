// SPDX-License-Identifier: Apache-2.0
// The workloads that questions are about.

import type { MeshConfig } from "../mesh/config.js"
import type { Workload } from "../selection/workload.js"

/** The properties of a workload that answers depend on. */
export interface ProofWorkload extends Workload {
  /** The ports that it serves; empty if unknown, so that any port may be one. */
  readonly ports?: readonly number[]
  /** Ports that receive UDP datagrams, which policies do not cover. */
  readonly udpPorts?: readonly number[]
  readonly serviceAccount?: string
  /** Name of its controller, such as its Deployment; absent if the workload is known by its own name. */
  readonly runBy?: string
  /** The host that callers use for it, such as `web.foo:8000`. */
  readonly host?: string
}

export function hostOf({ host, name, namespace }: ProofWorkload): string {
  return host ?? `${name}.${namespace}`
}

/** Its identity when it calls other workloads; undefined if its service account is unknown. */
export function identityOf({ namespace, serviceAccount }: ProofWorkload, trustDomain: string): string | undefined {
  return serviceAccount === undefined ? undefined : `${trustDomain}/ns/${namespace}/sa/${serviceAccount}`
}

/** The identities of running workloads, without duplicates, in an order that does not depend on the list. */
export function callersAmong(workloads: readonly ProofWorkload[], { trustDomain }: MeshConfig): readonly string[] {
  return [...new Set(workloads.flatMap(workload => identityOf(workload, trustDomain) ?? []))].sort()
}

/** The `namespace/name` that stays the same while Pods come and go, and that recorded calls use. */
export function lastingName({ namespace, name, runBy }: ProofWorkload): string {
  return `${namespace}/${runBy ?? name}`
}

/**
 * The workloads that a name refers to: a workload's own name, else that of its controller, else that of its Gateway,
 * else that of a Service that selects it. Several if Pods of one name differ in what policies see, or if the namespace is omitted.
 */
export function workloadsCalled(
  word: string,
  workloads: readonly ProofWorkload[],
  namespace: string | undefined,
): readonly ProofWorkload[] {
  const slash = word.indexOf("/")
  const [place, name] = slash < 0 ? [namespace, word] : [word.slice(0, slash), word.slice(slash + 1)]
  const near = workloads.filter(one => place === undefined || one.namespace === place)
  const ways: readonly ((one: ProofWorkload) => boolean)[] = [
    one => one.name === name,
    one => one.runBy === name,
    one => one.gateway?.name === name,
    one => (one.services ?? []).includes(name),
  ]
  for (const isMeant of ways) {
    const found = near.filter(isMeant)
    if (found.length > 0)
      return [...new Map(found.map(one => [looksOf(one), one] as const).reverse()).values()].reverse()
  }
  return []
}

/** Labels by which an orchestrator distinguishes versions and Pods of one workload. Policies should not use them. */
export const OF_ONE_POD =
  /(^|\/)(pod-template-hash|controller-revision-hash|pod-template-generation|pod-name|pod-index)$/

/** Equal for workloads that policies cannot distinguish. */
function looksOf(workload: ProofWorkload): string {
  const { namespace, name, runBy, labels, services = [], serviceAccount, ports = [], gateway } = workload
  const lasting = Object.entries(labels).filter(([key]) => !OF_ONE_POD.test(key))
  const labelTexts = lasting.map(([key, value]) => `${key}=${value}`).sort()
  return JSON.stringify([namespace, runBy ?? name, labelTexts, [...services].sort(), serviceAccount, ports, gateway])
}
