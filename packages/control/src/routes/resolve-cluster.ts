// SPDX-License-Identifier: Apache-2.0
// Resolves a cluster's name: the endpoints of the Service's port with the labels of the subset, how to call them, and
// which identities they may have.

import { parseIp, parseSpiffeId } from "@merlon/policy/request"
import type { ClientTlsMode, TrafficPolicy } from "@merlon/policy/resources"
import {
  type ClusterKey,
  type ClusterTraffic,
  parseClusterName,
  type ServiceCluster,
  type ServiceEndpoint,
} from "@merlon/xds"
import type { MeshServiceEntry, ServicePort } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { targetPortOf } from "../registry/target-port.js"
import { type ProxiedPort, proxiedPortAt } from "./known-address.js"
import { addressedHost, destinationsOf, isSubset } from "./mesh-service-index.js"
import { canonicalHost, type RouteContext } from "./route-context.js"
import { clusterTraffic } from "./traffic.js"

interface ClusterSpec {
  /** Whether any document or Service leads to the cluster. */
  readonly known: boolean
  /** Labels of the subset; empty for the whole Service. */
  readonly labels: { readonly [key: string]: string }
  readonly tlsMode: ClientTlsMode | undefined
  readonly traffic: ClusterTraffic | undefined
}

/** Undefined if there is no such cluster. */
export function resolveCluster(name: string, context: RouteContext): ServiceCluster | undefined {
  const key = parseClusterName(name)
  if (key === undefined) return undefined
  const { host, port, subset } = key
  const service = context.directory.services.get(host)
  const spec = specOf(key, context)
  const proxied = proxiedPortAt(host, port, context)
  if (!spec.known && ((service === undefined && proxied === undefined) || subset !== "")) return undefined
  const behind = service === undefined ? [] : [...context.directory.behind(service)]
  const members = proxied === undefined ? behind.filter(each => hasLabels(each, spec.labels)) : [proxied.workload]
  return {
    name,
    host,
    port,
    subset,
    tlsMode: spec.tlsMode,
    sni: host,
    identities: identitiesOf(members, context),
    endpoints:
      service === undefined ? endpointsAt(key, proxied, context) : endpointsOf(service, port, members, context),
    ...(spec.traffic === undefined ? {} : { traffic: spec.traffic }),
  }
}

/**
 * The document that governs the host has precedence; within a document the setting of the destination overrides the
 * general one.
 */
function specOf({ host, subset, guest }: ClusterKey, context: RouteContext): ClusterSpec {
  let labels: ClusterSpec["labels"] | undefined
  let known = false
  // In order of precedence.
  const settings: (TrafficPolicy | undefined)[] = []
  for (const document of context.meshServices.affecting(host, guest)) {
    const destinations = destinationsOf(document).filter(
      destination =>
        (isSubset(destination) ? destination.name : "") === subset &&
        canonicalHost(addressedHost(destination), document.metadata.namespace, context) === host,
    )
    const governs = context.meshServices.governing(host, guest) === document
    known ||= destinations.length > 0 || (governs && subset === "")
    labels ??= destinations[0]?.labels
    if (destinations.length > 0 || governs) {
      settings.push(...destinations.map(({ trafficPolicy }) => trafficPolicy), document.spec.trafficPolicy)
    }
  }
  const tlsMode = settings.map(policy => policy?.tls?.mode).find(mode => mode !== undefined)
  return { known, labels: labels ?? {}, tlsMode, traffic: clusterTraffic(settings) }
}

function hasLabels({ labels }: MeshWorkload, wanted: { readonly [key: string]: string }): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}

function identitiesOf(workloads: readonly MeshWorkload[], { mesh }: RouteContext): readonly string[] {
  const identities = new Set<string>()
  for (const { namespace, serviceAccount } of workloads) {
    for (const trustDomain of [mesh.trustDomain, ...mesh.trustDomainAliases]) {
      const id = parseSpiffeId(`spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`)
      if (id !== undefined) identities.add(id.uri)
    }
  }
  return [...identities].sort(compareText)
}

function endpointsOf(
  service: MeshServiceEntry,
  port: number,
  workloads: readonly MeshWorkload[],
  context: RouteContext,
): readonly ServiceEndpoint[] {
  const entry = service.ports.find(candidate => candidate.port === port)
  if (entry === undefined) return []
  const endpoints = workloads.flatMap(workload => endpointOf(workload, entry, context) ?? [])
  return endpoints.sort((a, b) => compareText(a.address, b.address) || a.port - b.port)
}

function endpointOf(workload: MeshWorkload, entry: ServicePort, { modeOf }: RouteContext): ServiceEndpoint | undefined {
  const { ready: healthy, key } = workload
  const [address, ...others] = workload.addresses
  if (address === undefined) return undefined
  const where = { address, ...(others.length === 0 ? {} : { otherAddresses: others }) }
  const declared = targetPortOf(workload.ports, entry)
  if (declared !== undefined && workload.proxied) {
    return { ...where, port: declared.listen, healthy, workload: key, mtlsMode: modeOf(workload, declared.port) }
  }
  const port = declared?.port ?? entry.targetPort
  return typeof port === "string" ? undefined : { ...where, port, healthy, workload: key, mtlsMode: undefined }
}

/** A destination that is an address needs no Service. */
function endpointsAt(
  { host, port }: ClusterKey,
  proxied: ProxiedPort | undefined,
  { modeOf }: RouteContext,
): readonly ServiceEndpoint[] {
  if (proxied !== undefined) {
    const { workload, port: declared } = proxied
    const mtlsMode = modeOf(workload, declared.port)
    return [{ address: host, port: declared.listen, healthy: workload.ready, workload: workload.key, mtlsMode }]
  }
  if (parseIp(host) === undefined || port === 0) return []
  return [{ address: host, port, healthy: true, workload: "", mtlsMode: undefined }]
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
