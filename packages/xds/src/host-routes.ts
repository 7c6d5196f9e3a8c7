// SPDX-License-Identifier: Apache-2.0
// Everything a caller needs to reach one host and port, as one resource: routes, destinations, endpoints, expected
// identities and trust. Standard xDS spreads this over four types that arrive separately; this resource is applied as a
// whole or not at all.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import type { RouteMatch, StringMatch } from "@merlon/policy/resources"
import type { EffectiveMode } from "@merlon/policy/selection"
import { choice, flag, list, object, optional, record, text, whole } from "@merlon/policy/shape"
import { type HostRoutes, HostRoutesSchema } from "./generated/merlon/mesh/v1/mesh_pb.js"
import { MalformedResource, readJson } from "./malformed-resource.js"
import type { TrustSpec } from "./proxy-resource.js"
import type { RouteTable, ServiceCluster, ServiceEndpoint, WeightedDestination, WeightedRoute } from "./route-table.js"
import { type ClusterTraffic, type RouteTraffic, type TrafficSpec, trafficSpec } from "./traffic.js"

export const HOST_ROUTES = "type.googleapis.com/merlon.mesh.v1.HostRoutes"

export interface HostRoutesSpec {
  readonly table: RouteTable
  /** All clusters that the table refers to; a cluster that does not exist is included without endpoints. */
  readonly clusters: readonly ServiceCluster[]
  /** What the servers accept, for display. */
  readonly services: readonly ServiceModes[]
  readonly trust: TrustSpec
  /** The declared protocol; absent if none is declared, and the first bytes decide. */
  readonly protocol?: RoutedProtocol
}

export type RoutedProtocol = (typeof PROTOCOLS)[number]

export interface ServiceModes {
  readonly host: string
  readonly ports: readonly PortMode[]
}

export interface PortMode {
  /** The Service's port. */
  readonly port: number
  /** The mode that callers must expect: the strictest if endpoints differ; undefined if no xserver enforces any. */
  readonly mtlsMode: EffectiveMode | undefined
  /** Whether endpoints have different modes. */
  readonly mixed: boolean
}

const MAX_NAME = 512
const MAX_PATTERN = 8_192
const MAX_BUNDLE = 1_048_576
const PROTOCOLS = ["http", "tcp"] as const
const MODES = ["DISABLE", "PERMISSIVE", "STRICT"] as const
const port = whole(0, 65_535)

const stringMatch = object<StringMatch>({
  exact: optional(text(MAX_PATTERN)),
  prefix: optional(text(MAX_PATTERN)),
  regex: optional(text(MAX_PATTERN)),
})

const routeMatch = object<RouteMatch>({
  uri: optional(stringMatch),
  method: optional(stringMatch),
  host: optional(stringMatch),
  headers: optional(record(64, stringMatch)),
  queryParams: optional(record(64, stringMatch)),
  port: optional(port),
})

const destination = object<WeightedDestination>({
  cluster: text(MAX_NAME),
  // A cluster that is named several times has the sum of its weights.
  weight: whole(0, Number.MAX_SAFE_INTEGER / 1_024),
})

const route = object<Omit<WeightedRoute, keyof RouteTraffic>>({
  match: list(64, routeMatch),
  destinations: list(512, destination),
})

const table = object<RouteTable>({
  host: text(MAX_NAME),
  port,
  aliases: list(16, text(MAX_NAME)),
  routes: list(256, route),
})

const endpoint = object<Omit<ServiceEndpoint, "otherAddresses">>({
  address: text(MAX_NAME),
  port: whole(1, 65_535),
  healthy: flag,
  workload: text(MAX_NAME),
  mtlsMode: optional(choice(...MODES)),
})

const otherAddresses = record(65_536, list(8, text(MAX_NAME)))

const cluster = object<Omit<ServiceCluster, "traffic">>({
  name: text(MAX_NAME * 2),
  host: text(MAX_NAME),
  port,
  subset: text(MAX_NAME),
  tlsMode: optional(choice("DISABLE", "DUBBO_MUTUAL")),
  sni: text(MAX_NAME),
  identities: list(65_536, text(2_048)),
  endpoints: list(65_536, endpoint),
})

const services = object<ServiceModes>({
  host: text(MAX_NAME),
  ports: list(1_024, object<PortMode>({ port, mtlsMode: optional(choice(...MODES)), mixed: flag })),
})

const trust = object<TrustSpec>({
  bundle: text(MAX_BUNDLE),
  signer: text(MAX_NAME),
  revokedIdentities: list(1_048_576, text(2_048)),
  revokedSerials: list(1_048_576, text(128)),
})

const hostRoutes = object<Omit<HostRoutesSpec, "protocol">>({
  table,
  clusters: list(4_096, cluster),
  services: list(4_096, services),
  trust,
})

/** Encodes the message inside the Any. */
export function encodeHostRoutes({ protocol, ...spec }: HostRoutesSpec): Uint8Array {
  const others: { [address: string]: readonly string[] } = {}
  const traffic: { [name: string]: ClusterTraffic } = {}
  const clusters = spec.clusters.map(({ traffic: settings, ...cluster }) => {
    if (settings !== undefined) traffic[cluster.name] = settings
    return {
      ...cluster,
      endpoints: cluster.endpoints.map(({ otherAddresses, ...endpoint }) => {
        if (otherAddresses !== undefined) others[endpoint.address] = otherAddresses
        return endpoint
      }),
    }
  })
  const limits = spec.table.routes.map(({ timeoutMs, retries }) => ({ timeoutMs, retries }))
  const routes = spec.table.routes.map(({ match, destinations }) => ({ match, destinations }))
  const hasTraffic = Object.keys(traffic).length > 0 || limits.some(({ timeoutMs, retries }) => timeoutMs ?? retries)
  const message = create(HostRoutesSchema, {
    routes: JSON.stringify({ ...spec, table: { ...spec.table, routes }, clusters }),
    otherAddresses: Object.keys(others).length === 0 ? "" : JSON.stringify(others),
    protocol: protocol ?? "",
    traffic: hasTraffic ? JSON.stringify({ routes: limits, clusters: traffic }) : "",
  })
  return toBinary(HostRoutesSchema, message)
}

/** Throws if the bytes are not complete host routes. */
export function decodeHostRoutes(bytes: Uint8Array): HostRoutesSpec {
  const message = messageOf(bytes)
  const { protocol } = message
  // A protocol of a later version is unknown here and ignored.
  const declared = PROTOCOLS.find(word => word === protocol)
  const spec: HostRoutesSpec = { ...readJson(message.routes, hostRoutes), ...(declared && { protocol: declared }) }
  const names = new Set(spec.clusters.map(({ name }) => name))
  if (names.size < spec.clusters.length) throw new MalformedResource("clusters: two have the same name")
  for (const { destinations } of spec.table.routes) {
    for (const { cluster: name } of destinations) {
      // Otherwise a route without a cluster would only be noticed by the first request that takes it.
      if (!names.has(name)) throw new MalformedResource(`table.routes: \`${name}\` is not among the clusters`)
    }
  }
  const known = message.traffic === "" ? spec : withTraffic(spec, readJson(message.traffic, trafficSpec))
  return message.otherAddresses === "" ? known : withOthers(known, readJson(message.otherAddresses, otherAddresses))
}

function withTraffic(spec: HostRoutesSpec, { routes, clusters }: TrafficSpec): HostRoutesSpec {
  return {
    ...spec,
    table: { ...spec.table, routes: spec.table.routes.map((route, place) => ({ ...route, ...routes[place] })) },
    clusters: spec.clusters.map(one => {
      const traffic = clusters[one.name]
      return traffic === undefined ? one : { ...one, traffic }
    }),
  }
}

function withOthers(spec: HostRoutesSpec, others: { readonly [address: string]: readonly string[] }): HostRoutesSpec {
  const complete = (endpoint: ServiceEndpoint): ServiceEndpoint => {
    const otherAddresses = others[endpoint.address]
    return otherAddresses === undefined ? endpoint : { ...endpoint, otherAddresses }
  }
  return { ...spec, clusters: spec.clusters.map(one => ({ ...one, endpoints: one.endpoints.map(complete) })) }
}

function messageOf(bytes: Uint8Array): HostRoutes {
  try {
    return fromBinary(HostRoutesSchema, bytes)
  } catch {
    throw new MalformedResource("is not a HostRoutes message")
  }
}
