// SPDX-License-Identifier: Apache-2.0
// The names of all hosts, for clients of one namespace that request all of them. Kept per host: a change affects only
// its hosts and those with routes to them.

import { clusterName } from "@merlon/xds"
import { authorityOf, hostCandidates } from "./host-name.js"
import { addressedHost, destinationsOf } from "./mesh-service-index.js"
import { resolveRoutes } from "./resolve-routes.js"
import { isTableType } from "./resource-maker.js"
import { canonicalHost, type RouteContext } from "./route-context.js"

interface HostNames {
  readonly tables: ReadonlySet<string>
  readonly clusters: ReadonlySet<string>
  /** Other hosts that it depends on: those its routes lead to, and those its name may mean. */
  readonly leadsTo: ReadonlySet<string>
}

export class RouteCatalog {
  readonly #context: RouteContext
  readonly #caller: string
  readonly #hosts = new Map<string, HostNames>()
  /** Number of hosts that name each table. */
  readonly #tables = new Map<string, number>()
  readonly #clusters = new Map<string, number>()
  readonly #ledFrom = new Map<string, Set<string>>()

  constructor(context: RouteContext, caller: string) {
    this.#context = context
    this.#caller = caller
    this.refresh([...context.directory.services.keys(), ...context.meshServices.hosts])
  }

  names(typeUrl: string): Iterable<string> {
    return (isTableType(typeUrl) ? this.#tables : this.#clusters).keys()
  }

  /** Returns whether names were added or removed. The caller decides which types that affects. */
  refresh(hosts: Iterable<string>): boolean {
    const touched = new Set(hosts)
    for (const host of [...touched]) for (const other of this.#ledFrom.get(host) ?? []) touched.add(other)
    let changed = false
    for (const host of touched) changed = this.#replace(host, this.#namesOf(host)) || changed
    return changed
  }

  #replace(host: string, after: HostNames): boolean {
    const before = this.#hosts.get(host)
    // New names are counted first, so that a name that stays is never reported as removed.
    const came = [count(this.#tables, after.tables, 1), count(this.#clusters, after.clusters, 1)]
    const went = [count(this.#tables, before?.tables ?? [], -1), count(this.#clusters, before?.clusters ?? [], -1)]
    for (const other of before?.leadsTo ?? []) {
      const from = this.#ledFrom.get(other)
      from?.delete(host)
      if (from?.size === 0) this.#ledFrom.delete(other)
    }
    for (const other of after.leadsTo) {
      const from = this.#ledFrom.get(other) ?? new Set()
      this.#ledFrom.set(other, from.add(host))
    }
    if (after.tables.size === 0 && after.leadsTo.size === 0) this.#hosts.delete(host)
    else this.#hosts.set(host, after)
    return came.includes(true) || went.includes(true)
  }

  #namesOf(host: string): HostNames {
    const tables = new Set<string>()
    const clusters = new Set<string>()
    const leadsTo = this.#leadsTo(host)
    // If a Service has the name, this spelling is only an alias.
    if (canonicalHost(host, "", this.#context) !== host) return { tables, clusters, leadsTo }
    const own = this.#context.directory.services.get(host)
    for (const port of own === undefined ? this.#portsOf(host) : new Set(own.ports.map(entry => entry.port))) {
      const table = resolveRoutes({ host, port }, this.#caller, this.#context)
      if (table === undefined) continue
      tables.add(authorityOf(host, port))
      if (own !== undefined) clusters.add(clusterName({ port, subset: "", host }))
      for (const { cluster } of table.routes.flatMap(route => route.destinations)) clusters.add(cluster)
    }
    return { tables, clusters, leadsTo }
  }

  #leadsTo(host: string): ReadonlySet<string> {
    const { clusterDomain, meshServices } = this.#context
    const document = meshServices.governing(host, this.#caller)
    if (document === undefined) return new Set()
    const spelt = destinationsOf(document).map(addressedHost)
    const candidates = spelt.flatMap(text => hostCandidates(text, document.metadata.namespace, clusterDomain))
    const others = new Set([...hostCandidates(host, "", clusterDomain), ...candidates])
    others.delete(host)
    return others
  }

  /** A host without a Service has the ports of the Services to which it routes. */
  #portsOf(host: string): ReadonlySet<number> {
    const document = this.#context.meshServices.governing(host, this.#caller)
    const destinations = document === undefined ? [] : destinationsOf(document)
    const targets = destinations.map(destination =>
      canonicalHost(addressedHost(destination), document?.metadata.namespace ?? "", this.#context),
    )
    const services = targets.flatMap(target => this.#context.directory.services.get(target) ?? [])
    return new Set(services.flatMap(service => service.ports.map(({ port }) => port)))
  }
}

/** Returns whether a name was added or removed. */
function count(counts: Map<string, number>, names: Iterable<string>, by: 1 | -1): boolean {
  let changed = false
  for (const name of names) {
    const after = (counts.get(name) ?? 0) + by
    if (after === 0) counts.delete(name)
    else counts.set(name, after)
    if (after === 0 || (by === 1 && after === 1)) changed = true
  }
  return changed
}
