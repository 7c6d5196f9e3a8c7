// SPDX-License-Identifier: Apache-2.0
// Encodes a route table as a RouteConfiguration. The host of a request is one of the table's names, so host matches are
// resolved here: names with the same routes share a virtual host. This also works for gRPC clients, which cannot match
// `:authority` as a header.

import { create, toBinary } from "@bufbuild/protobuf"
import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { type RouteMatch as MeshMatch, stringMatcher } from "@merlon/policy/resources"
import {
  type Route,
  type RouteAction,
  RouteActionSchema,
  RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
  WeightedCluster_ClusterWeightSchema,
  WeightedClusterSchema,
} from "../generated/envoy/config/route/v3/route_components_pb.js"
import { RouteConfigurationSchema } from "../generated/envoy/config/route/v3/route_pb.js"
import type { RouteTable, WeightedDestination, WeightedRoute } from "../route-table.js"
import { encodeMatch } from "./matches.js"
import { retryPolicy } from "./traffic.js"

export function encodeRoutes(name: string, table: RouteTable): Uint8Array {
  return toBinary(
    RouteConfigurationSchema,
    create(RouteConfigurationSchema, { name, virtualHosts: virtualHosts(table) }),
  )
}

function virtualHosts({ host, port, aliases, routes }: RouteTable): VirtualHost[] {
  const spellings = new Map<string, { readonly names: string[]; readonly routes: readonly WeightedRoute[] }>()
  for (const name of [host, ...aliases]) {
    const reached = routesAt(name, routes)
    const alike = JSON.stringify(reached)
    const group = spellings.get(alike) ?? { names: [], routes: reached }
    group.names.push(name)
    spellings.set(alike, group)
  }
  return [...spellings.values()].map(group =>
    create(VirtualHostSchema, {
      name: authority(group.names[0] ?? host, port),
      domains: group.names.flatMap(name => [name.includes(":") ? `[${name}]` : name, authority(name, port)]),
      routes: group.routes.flatMap(encodeRoute),
    }),
  )
}

function authority(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`
}

/** The routes that a request to this host name can match. */
function routesAt(name: string, routes: readonly WeightedRoute[]): readonly WeightedRoute[] {
  const reached: WeightedRoute[] = []
  for (const { match, ...route } of routes) {
    const alternatives = match.filter(({ host }) => host === undefined || stringMatcher(host)(name)).map(withoutHost)
    if (match.length > 0 && alternatives.length === 0) continue
    const always = match.length === 0 || alternatives.some(alternative => Object.keys(alternative).length === 0)
    reached.push({ ...route, match: always ? [] : alternatives })
    if (always) break
  }
  return reached
}

function withoutHost({ uri, method, headers, queryParams }: MeshMatch): MeshMatch {
  return {
    ...(uri === undefined ? {} : { uri }),
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined || Object.keys(headers).length === 0 ? {} : { headers }),
    ...(queryParams === undefined || Object.keys(queryParams).length === 0 ? {} : { queryParams }),
  }
}

/** An Envoy route has a single match, so each alternative becomes a route with the same action. */
function encodeRoute({ match, ...route }: WeightedRoute): Route[] {
  const action = encodeAction(route)
  return (match.length === 0 ? [{}] : match).map(alternative =>
    create(RouteSchema, { match: encodeMatch(alternative), action: { case: "route", value: action } }),
  )
}

function encodeAction({ destinations, timeoutMs = 0, retries }: Omit<WeightedRoute, "match">): RouteAction {
  // 0 means no limit. Without it Envoy would time out every request after 15 seconds.
  const timeout = durationFromMs(timeoutMs)
  const clusters = inRange(destinations).map(({ cluster, weight }) =>
    create(WeightedCluster_ClusterWeightSchema, { name: cluster, weight }),
  )
  const value = create(WeightedClusterSchema, { clusters })
  const policy = retryPolicy(retries)
  return create(RouteActionSchema, {
    clusterSpecifier: { case: "weightedClusters", value },
    timeout,
    ...(policy === undefined ? {} : { retryPolicy: policy }),
  })
}

const MAX_SUM = 0xffff_ffff

/** Clients reject weights whose sum exceeds 32 bits. Every destination with a share keeps one. */
function inRange(destinations: readonly WeightedDestination[]): readonly WeightedDestination[] {
  const sum = destinations.reduce((total, { weight }) => total + weight, 0)
  if (sum <= MAX_SUM) return destinations
  // Rounding up adds at most one to each.
  const factor = (MAX_SUM - destinations.length) / sum
  return destinations.map(({ cluster, weight }) => ({ cluster, weight: Math.ceil(weight * factor) }))
}
