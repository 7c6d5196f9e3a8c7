// SPDX-License-Identifier: Apache-2.0
// A route table with all its destinations: the resource that our own clients get, and that xclient prints.

import type { EffectiveMode } from "@merlon/policy/selection"
import {
  clusterName,
  type HostRoutesSpec,
  type PortMode,
  parseClusterName,
  type RoutedProtocol,
  type RouteTable,
  type ServiceCluster,
  type ServiceModes,
  type TrustSpec,
} from "@merlon/xds"
import type { MeshServiceEntry } from "../registry/mesh-directory.js"
import { proxiedPortAt } from "./known-address.js"
import { resolveCluster } from "./resolve-cluster.js"
import type { RouteContext } from "./route-context.js"

export function resolveHostRoutes(table: RouteTable, trust: TrustSpec, context: RouteContext): HostRoutesSpec {
  const names = new Set(table.routes.flatMap(route => route.destinations.map(({ cluster }) => cluster)))
  const find = (name: string): ServiceCluster => resolveCluster(name, context) ?? empty(name)
  const clusters = [...names].map(find)
  const hosts = [...new Set([table.host, ...clusters.map(({ host }) => host)])]
  const services = hosts.flatMap(host => context.directory.services.get(host) ?? [])
  const protocol = protocolOf(table, context)
  const modes = services.map(service => modesOf(service, find))
  return { table, clusters, services: modes, trust, ...(protocol === undefined ? {} : { protocol }) }
}

export interface AddressAndPort {
  readonly host: string
  readonly port: number
}

/** Routes for an address that is called directly. */
export function passThroughRoutes({ host, port }: AddressAndPort, trust: TrustSpec): HostRoutesSpec {
  const name = clusterName({ port, subset: "", host })
  const endpoint = { address: host, port, healthy: true, workload: "", mtlsMode: undefined }
  const cluster = { name, host, port, subset: "", tlsMode: undefined, sni: host, identities: [], endpoints: [endpoint] }
  const route = { match: [], destinations: [{ cluster: name, weight: 100 }] }
  return { table: { host, port, aliases: [], routes: [route] }, clusters: [cluster], services: [], trust }
}

/** The protocol that the Service's port declares, or the workload's port if an address was called. */
function protocolOf({ host, port }: RouteTable, context: RouteContext): RoutedProtocol | undefined {
  const service = context.directory.services.get(host)
  if (service === undefined) {
    const protocol = proxiedPortAt(host, port, context)?.port.protocol
    return protocol === "auto" ? undefined : protocol
  }
  const declared = service.ports.find(entry => entry.port === port)?.appProtocol
  if (declared === undefined) return undefined
  return declared === "tcp" ? "tcp" : "http"
}

function modesOf({ host, ports }: MeshServiceEntry, find: (name: string) => ServiceCluster): ServiceModes {
  return { host, ports: ports.map(({ port }) => modeOf(port, find(clusterName({ port, subset: "", host })))) }
}

const STRICTEST: readonly EffectiveMode[] = ["STRICT", "PERMISSIVE", "DISABLE"]

function modeOf(port: number, { endpoints }: ServiceCluster): PortMode {
  const modes = new Set(endpoints.map(({ mtlsMode }) => mtlsMode))
  return { port, mtlsMode: STRICTEST.find(mode => modes.has(mode)), mixed: modes.size > 1 }
}

/** For a route to a cluster that was removed in the meantime. */
function empty(name: string): ServiceCluster {
  const { host, port, subset } = parseClusterName(name) ?? { host: "", port: 0, subset: "" }
  return { name, host, port, subset, tlsMode: undefined, sni: host, identities: [], endpoints: [] }
}
