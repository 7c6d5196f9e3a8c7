// SPDX-License-Identifier: Apache-2.0
// Routes for humans and scripts: the JSON of `--print-route`, the line of `--watch`, and whether they are complete.
// They are the routes of one call: if routes depend on the request, so does the output.

import type { ServiceCluster } from "@merlon/xds"
import type { Call } from "../routes/call.js"
import type { HostRouting } from "../routes/host-routing.js"
import type { Shares } from "./expectation.js"

export interface RouteView {
  readonly host: string
  readonly port: number
  readonly destinations: readonly DestinationView[]
  readonly services?: readonly ServiceView[]
}

export interface DestinationView {
  readonly cluster: string
  readonly host: string
  readonly subset?: string
  readonly weight: number
  readonly tlsMode?: string
  readonly sni?: string
  readonly endpoints?: readonly { readonly address: string; readonly port: number }[]
}

export interface ServiceView {
  readonly host: string
  readonly ports: readonly {
    readonly port: number
    readonly mtlsMode?: string
    /** Set if endpoints differ; the strictest mode is shown. */
    readonly mixed?: true
  }[]
}

interface Destination {
  readonly name: string
  readonly weight: number
  readonly cluster: ServiceCluster
}

export function routeView(routing: HostRouting, call: Call): RouteView {
  const { table, services } = routing.spec
  return {
    host: table.host,
    port: table.port,
    destinations: destinationsOf(routing, call).map(({ weight, cluster }) => destinationView(cluster, weight)),
    ...(services.length > 0 && {
      services: services.map(({ host, ports }) => ({
        host,
        ports: ports.map(({ port, mtlsMode, mixed }) => ({
          port,
          ...(mtlsMode !== undefined && { mtlsMode }),
          ...(mixed && { mixed }),
        })),
      })),
    }),
  }
}

/** `H:P v1=50 endpoints=1,v2=50 endpoints=1`. */
export function watchLine(routing: HostRouting, call: Call): string {
  const { host, port } = routing.spec.table
  const parts = destinationsOf(routing, call).map(
    ({ name, weight, cluster }) => `${name}=${weight} endpoints=${cluster.endpoints.length}`,
  )
  return `${host}:${port} ${parts.join(",")}`
}

export function sharesOf(routing: HostRouting, call: Call): Shares {
  return new Map(destinationsOf(routing, call).map(({ name, weight }) => [name, weight]))
}

/** Whether every destination that gets requests has an endpoint for them. */
export function isComplete(routing: HostRouting, call: Call): boolean {
  const used = destinationsOf(routing, call).filter(({ weight }) => weight > 0)
  return used.length > 0 && used.every(({ cluster }) => cluster.endpoints.length > 0)
}

/** Sorted by cluster. */
export function destinationsOf(routing: HostRouting, call: Call): readonly Destination[] {
  const destinations = (routing.destinationsFor(call) ?? []).flatMap(({ cluster: key, weight }) => {
    const cluster = routing.cluster(key)
    return cluster === undefined ? [] : [{ name: routing.nameOf(key), weight, cluster }]
  })
  return destinations.sort((a, b) => compareText(a.cluster.name, b.cluster.name))
}

function destinationView({ name, host, subset, tlsMode, sni, endpoints }: ServiceCluster, weight: number) {
  const sorted = [...endpoints].sort((a, b) => compareText(a.address, b.address) || a.port - b.port)
  return {
    cluster: name,
    host,
    ...(subset !== "" && { subset }),
    weight,
    ...(tlsMode === "DUBBO_MUTUAL" && { tlsMode, ...(sni !== "" && { sni }) }),
    ...(sorted.length > 0 && { endpoints: sorted.map(({ address, port }) => ({ address, port })) }),
  }
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
