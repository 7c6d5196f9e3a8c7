// SPDX-License-Identifier: Apache-2.0
// Finds what is at an address: the Service that has it as a cluster IP, or the workload behind a proxy. Callers whose
// connections are captured know only the address they called.

import type { MeshServiceEntry } from "../registry/mesh-directory.js"
import type { MeshWorkload, WorkloadPort } from "../registry/mesh-workload.js"
import type { RouteContext } from "./route-context.js"

type Directory = Pick<RouteContext, "directory">

/** Undefined for a Service without a selector, such as the API server's: its endpoints are not known here. */
export function serviceAt(address: string, { directory }: Directory): MeshServiceEntry | undefined {
  for (const service of directory.at(address).services) if (service.selector !== undefined) return service
  return undefined
}

/** Whether the address belongs to the cluster: a Service has the port there, or the address is a Pod's. */
export function isRegistered(address: string, port: number, { directory }: Directory): boolean {
  const { services, workloads } = directory.at(address)
  return [...services].some(({ ports }) => ports.some(each => each.port === port)) || [...workloads].length > 0
}

export interface ProxiedPort {
  readonly workload: MeshWorkload
  readonly port: WorkloadPort
}

/**
 * The workload most likely to answer if several have the address; undefined if none has a proxy for the port. The
 * proxy's own port is not included: a caller that uses it speaks mTLS itself.
 */
export function proxiedPortAt(address: string, port: number, { directory }: Directory): ProxiedPort | undefined {
  let best: ProxiedPort | undefined
  for (const workload of directory.at(address).workloads) {
    const declared = workload.proxied ? workload.ports.find(each => each.port === port) : undefined
    if (declared === undefined) continue
    const found = { workload, port: declared }
    if (best === undefined || compare(found, best) < 0) best = found
  }
  return best
}

function compare({ workload: a }: ProxiedPort, { workload: b }: ProxiedPort): number {
  const rank = ({ ready, started, leaving }: MeshWorkload): number => (ready ? 0 : started && !leaving ? 1 : 2)
  return rank(a) - rank(b) || (a.key < b.key ? -1 : 1)
}
