// SPDX-License-Identifier: Apache-2.0
// The workloads that questions are about.

import type { MeshConfig } from "../mesh/config.js"
import type { Workload } from "../selection/workload.js"

/** A workload as far as answers depend on it. */
export interface ProofWorkload extends Workload {
  /** The ports that it serves; empty if unknown, so that any port may be one. */
  readonly ports?: readonly number[]
  /** Those that take datagrams, which no policy judges. */
  readonly udpPorts?: readonly number[]
  readonly serviceAccount?: string
  /** Name of what runs it, as its Deployment; absent where it is known by its own name. */
  readonly runBy?: string
  /** What callers call it, as `web.foo:8000`. */
  readonly host?: string
}

export function hostOf({ host, name, namespace }: ProofWorkload): string {
  return host ?? `${name}.${namespace}`
}

/** Its identity towards the workloads it calls; undefined if its service account is unknown. */
export function identityOf({ namespace, serviceAccount }: ProofWorkload, trustDomain: string): string | undefined {
  return serviceAccount === undefined ? undefined : `${trustDomain}/ns/${namespace}/sa/${serviceAccount}`
}

/** The identities of running workloads, each once, in an order that does not depend on the list. */
export function callersAmong(workloads: readonly ProofWorkload[], { trustDomain }: MeshConfig): readonly string[] {
  return [...new Set(workloads.flatMap(workload => identityOf(workload, trustDomain) ?? []))].sort()
}

/** `namespace/name` by which it is known where Pods come and go, as recorded calls name it. */
export function lastingName({ namespace, name, runBy }: ProofWorkload): string {
  return `${namespace}/${runBy ?? name}`
}

/**
 * The workloads that a name refers to: a workload's own name, else that of its controller, else that of a Service that
 * selects it. Several if Pods of one name differ in what policies see, or if the namespace is omitted.
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
    one => (one.services ?? []).includes(name),
  ]
  for (const isMeant of ways) {
    const found = near.filter(isMeant)
    if (found.length > 0)
      return [...new Map(found.map(one => [looksOf(one), one] as const).reverse()).values()].reverse()
  }
  return []
}

/** Labels by which an orchestrator tells versions and Pods of one workload apart, and no policy should. */
export const OF_ONE_POD =
  /(^|\/)(pod-template-hash|controller-revision-hash|pod-template-generation|pod-name|pod-index)$/

/** Equal for workloads that are to policies as one. */
function looksOf({ namespace, name, runBy, labels, services = [], serviceAccount, ports = [] }: ProofWorkload): string {
  const lasting = Object.entries(labels).filter(([key]) => !OF_ONE_POD.test(key))
  const told = lasting.map(([key, value]) => `${key}=${value}`).sort()
  return JSON.stringify([namespace, runBy ?? name, told, [...services].sort(), serviceAccount, ports])
}
