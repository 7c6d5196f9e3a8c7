// SPDX-License-Identifier: Apache-2.0
// The workloads behind a MeshService: those of its destinations, or of its hosts if it has none. Also the destinations
// without workloads.

import type { Destination, MeshService } from "@merlon/policy/resources"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { appliesTo, byPrecedence, hostsOf, type MeshScope } from "../routes/host-governance.js"
import { hostCandidates } from "../routes/host-name.js"
import { addressedHost, destinationsOf, isSubset } from "../routes/mesh-service-index.js"
import type { GovernedHost } from "./condition-inputs.js"

export interface MeshServiceReach {
  readonly workloads: ReadonlyMap<string, MeshWorkload>
  /** Destinations and hosts without workloads, as the document spells them. */
  readonly missing: readonly string[]
  /** Every host that was looked up, existing or not: a change of any of them may change the result. */
  readonly hosts: ReadonlySet<string>
}

type Directory = Pick<MeshDirectory, "services" | "behind">

export function meshServiceReach(document: MeshService, directory: Directory, clusterDomain: string): MeshServiceReach {
  const workloads = new Map<string, MeshWorkload>()
  const hosts = new Set<string>()
  const missing = new Set<string>()
  const destinations = destinationsOf(document)
  const wanted: readonly Destination[] =
    destinations.length > 0 ? destinations : document.spec.hosts.map(host => ({ host }))
  for (const destination of wanted) {
    let found = false
    for (const workload of behind(
      addressedHost(destination),
      document.metadata.namespace,
      directory,
      clusterDomain,
      hosts,
    )) {
      const asked = Object.entries(isSubset(destination) ? (destination.labels ?? {}) : {})
      if (asked.some(([key, value]) => workload.labels[key] !== value)) continue
      found = true
      workloads.set(workload.key, workload)
    }
    if (!found) missing.add(`\`${destination.name ?? destination.host}\``)
  }
  return { workloads, missing: [...missing], hosts }
}

/**
 * Hosts of the document that another one governs: of the documents that apply to its callers, only one routes a host.
 */
export function governedByOthers(
  document: MeshService,
  others: Iterable<MeshService>,
  scope: MeshScope,
): readonly GovernedHost[] {
  const { namespace } = document.metadata
  const rivals = [...others].map(other => ({ other, hosts: hostsOf(other, scope) }))
  const ownerOf = (host: string): MeshService | undefined => {
    const order = byPrecedence(host, scope)
    const before = rivals.filter(
      ({ other, hosts }) =>
        hosts.has(host) && appliesTo(other.metadata.namespace, host, namespace, scope) && order(other, document) < 0,
    )
    return before.map(({ other }) => other).sort(order)[0]
  }
  return document.spec.hosts.flatMap(host => {
    const owner = hostCandidates(host, namespace, scope.clusterDomain).flatMap(spelling => ownerOf(spelling) ?? [])[0]
    return owner === undefined ? [] : [{ host, by: `${owner.metadata.namespace}/${owner.metadata.name}` }]
  })
}

function behind(
  host: string,
  namespace: string,
  directory: Directory,
  clusterDomain: string,
  looked: Set<string>,
): Iterable<MeshWorkload> {
  const candidates = hostCandidates(host, namespace, clusterDomain)
  for (const candidate of candidates) looked.add(candidate)
  const service = candidates.map(candidate => directory.services.get(candidate)).find(found => found !== undefined)
  return service === undefined ? [] : directory.behind(service)
}
