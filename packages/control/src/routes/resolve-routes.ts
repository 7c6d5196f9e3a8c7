// SPDX-License-Identifier: Apache-2.0
// Resolves MeshService and Service into a route table. Rules are tried in order and the first that matches routes;
// routes without a match come last. Unreachable routes are dropped.

import type { Destination, MeshService, Route, RouteMatch } from "@merlon/policy/resources"
import { clusterName, type RouteTable, type WeightedDestination, type WeightedRoute } from "@merlon/xds"
import { isGuest } from "./host-governance.js"
import { hostAliases } from "./host-name.js"
import { proxiedPortAt } from "./known-address.js"
import { addressedHost, isSubset } from "./mesh-service-index.js"
import { canonicalHost, type RouteContext, scopeOf } from "./route-context.js"
import { routeTraffic } from "./traffic.js"

/** The share of a single destination if there are no weights to compare. */
const WHOLE = 100

/**
 * The table of a host in its full spelling, or of an address, for callers of a namespace. Undefined if no MeshService,
 * Service or proxied workload has it.
 */
export function resolveRoutes(
  { host, port }: { readonly host: string; readonly port: number },
  caller: string,
  context: RouteContext,
): RouteTable | undefined {
  const document = context.meshServices.governing(host, caller)
  const service = context.directory.services.get(host)
  const known = service?.ports.some(entry => entry.port === port) ?? proxiedPortAt(host, port, context) !== undefined
  if (document === undefined && !known) return undefined
  const routes = document === undefined ? [] : routesOf(document, port, context)
  const itself = clusterName({ port, subset: "", host, ...guestOf(document, host, context) })
  const own = { match: [], destinations: [{ cluster: itself, weight: WHOLE }], ...routeTraffic(document?.spec ?? {}) }
  const governed = document !== undefined && saysRoutes(document)
  return { host, port, aliases: hostAliases(host, context.clusterDomain), routes: governed ? routes : [own] }
}

/** A guest's settings for a host apply only to routes of the guest. */
function guestOf(document: MeshService | undefined, host: string, context: RouteContext): { readonly guest?: string } {
  const namespace = document?.metadata.namespace
  return namespace !== undefined && isGuest(namespace, host, scopeOf(context)) ? { guest: namespace } : {}
}

function saysRoutes({ spec }: MeshService): boolean {
  return (spec.rules ?? []).length > 0 || (spec.routes ?? []).length > 0
}

function routesOf(document: MeshService, port: number, context: RouteContext): readonly WeightedRoute[] {
  const { spec } = document
  const { rules = [], routes = [] } = spec
  const split = (entries: readonly Route[] | undefined) => splitOf(entries ?? [], document, port, context)
  const ordered: WeightedRoute[] = []
  for (const rule of rules) {
    const alternatives = matchesAt(rule.match ?? [], port)
    if (alternatives !== undefined)
      ordered.push({ match: alternatives, destinations: split(rule.route), ...routeTraffic(rule, spec) })
  }
  for (const rule of rules) ordered.push({ match: [], destinations: split(rule.routes), ...routeTraffic(rule, spec) })
  ordered.push({ match: [], destinations: split(routes), ...routeTraffic(spec) })
  const leading = ordered.filter(({ destinations }) => destinations.length > 0)
  const last = leading.findIndex(({ match }) => match.length === 0)
  return last === -1 ? leading : leading.slice(0, last + 1)
}

/**
 * The alternatives that can match at the port, without the port itself. Empty if every request matches; undefined if
 * none can match.
 */
function matchesAt(match: readonly RouteMatch[], port: number): readonly RouteMatch[] | undefined {
  if (match.length === 0) return []
  const possible = match.filter(alternative => alternative.port === undefined || alternative.port === port)
  if (possible.length === 0) return undefined
  const stripped = possible.map(withoutPort)
  return stripped.some(isUnconditional) ? [] : stripped
}

function withoutPort({ uri, method, host, headers, queryParams }: RouteMatch): RouteMatch {
  return {
    ...(uri === undefined ? {} : { uri }),
    ...(method === undefined ? {} : { method }),
    ...(host === undefined ? {} : { host }),
    ...(headers === undefined ? {} : { headers }),
    ...(queryParams === undefined ? {} : { queryParams }),
  }
}

function isUnconditional({ uri, method, host, headers = {}, queryParams = {} }: RouteMatch): boolean {
  return (
    uri === undefined &&
    method === undefined &&
    host === undefined &&
    Object.keys(headers).length === 0 &&
    Object.keys(queryParams).length === 0
  )
}

/** Entries form one split. The shares of a cluster that is named twice are added. */
function splitOf(
  entries: readonly Route[],
  document: MeshService,
  port: number,
  context: RouteContext,
): readonly WeightedDestination[] {
  const destinations = entries.flatMap(entry => entry.service ?? [])
  const equal = destinations.length === 1 ? WHOLE : 1
  const shares = new Map<string, number>()
  for (const destination of destinations) {
    const cluster = clusterOf(destination, document, port, context)
    shares.set(cluster, (shares.get(cluster) ?? 0) + (destination.weight ?? equal))
  }
  return [...shares].map(([cluster, weight]) => ({ cluster, weight }))
}

function clusterOf(destination: Destination, document: MeshService, called: number, context: RouteContext): string {
  const host = canonicalHost(addressedHost(destination), document.metadata.namespace, context)
  return clusterName({
    port: portOf(destination, host, called, context),
    subset: isSubset(destination) ? (destination.name ?? "") : "",
    host,
    ...guestOf(document, host, context),
  })
}

function portOf({ port }: Destination, host: string, called: number, { directory }: RouteContext): number {
  if (port === undefined) return called
  if (port.number !== undefined) return port.number
  // Port 0 has no endpoints: requests for a missing port must not go to another one.
  return directory.services.get(host)?.ports.find(({ name }) => name === port.name)?.port ?? 0
}
