// SPDX-License-Identifier: Apache-2.0
// One resource by its type and name, of standard xDS or for our own callers, together with what it was made
// of: whatever of that changes, it has to be made again; whatever else changes, it stays.

import { createHash } from "node:crypto"
import { isIP } from "node:net"
import {
  CLUSTER,
  ENDPOINTS,
  encodeHostRoutes,
  HOST_ROUTES,
  LISTENER,
  parseClusterName,
  ROUTE_CONFIGURATION,
  type RouteEncoders,
  type RouteTable,
  type TrustSpec,
} from "@merlon/xds"
import type { VersionedResource } from "@merlon/xds/server"
import { authorityOf, hostCandidates, parseAuthority } from "./host-name.js"
import { serviceAt } from "./known-address.js"
import { addressedHost, destinationsOf } from "./mesh-service-index.js"
import { resolveCluster } from "./resolve-cluster.js"
import { resolveHostRoutes } from "./resolve-host-routes.js"
import { resolveRoutes } from "./resolve-routes.js"
import { canonicalHost, type RouteContext } from "./route-context.js"

export interface MadeResource {
  /** Undefined where nothing of that name exists now. */
  readonly resource: VersionedResource | undefined
  /** Hosts that were looked at, found or not. */
  readonly hosts: ReadonlySet<string>
}

export const ROUTE_TYPES: ReadonlySet<string> = new Set([
  LISTENER,
  ROUTE_CONFIGURATION,
  CLUSTER,
  ENDPOINTS,
  HOST_ROUTES,
])

/** Stands among the hosts of a resource that names whom to trust; no host is spelt so. */
export const TRUST = "|trust"

const NOTHING: ReadonlySet<string> = new Set()

export class ResourceMaker {
  readonly #context: RouteContext
  readonly #encoders: RouteEncoders
  readonly #trust: () => TrustSpec

  constructor(context: RouteContext, encoders: RouteEncoders, trust: () => TrustSpec) {
    this.#context = context
    this.#encoders = encoders
    this.#trust = trust
  }

  /** `namespace` is the asking caller's: a host without a dot means the Service there, and its MeshServices are heard. */
  make(typeUrl: string, name: string, namespace: string): MadeResource {
    return isTableType(typeUrl) ? this.#makeRoutes(typeUrl, name, namespace) : this.#makeCluster(typeUrl, name)
  }

  #makeRoutes(typeUrl: string, name: string, namespace: string): MadeResource {
    const authority = parseAuthority(name)
    if (authority === undefined) return { resource: undefined, hosts: NOTHING }
    const { clusterDomain, directory, meshServices } = this.#context
    const hosts = new Set(hostCandidates(authority.host, namespace, clusterDomain))
    const host = this.#hostOf(authority.host, namespace)
    hosts.add(host)
    const document = meshServices.governing(host, namespace)
    for (const destination of document === undefined ? [] : destinationsOf(document)) {
      const spelt = hostCandidates(addressedHost(destination), document?.metadata.namespace ?? "", clusterDomain)
      for (const candidate of spelt) hosts.add(candidate)
    }
    const port = authority.port ?? onlyPort(directory.services.get(host)?.ports)
    const resolved = port === undefined ? undefined : resolveRoutes({ host, port }, namespace, this.#context)
    if (resolved === undefined) return { resource: undefined, hosts }
    const table = addressedAs(authority.host, resolved)
    if (typeUrl === HOST_ROUTES) return this.#makeHostRoutes(name, table, hosts)
    const value =
      typeUrl === LISTENER
        ? this.#encoders.listener(name, authorityOf(host, table.port))
        : this.#encoders.routes(name, table)
    return { resource: versioned(name, value), hosts }
  }

  /**
   * A cluster IP means its Service, also where a MeshService names the address: otherwise one could bypass what the owner of the
   * Service says about it.
   */
  #hostOf(spelling: string, namespace: string): string {
    const host = canonicalHost(spelling, namespace, this.#context)
    return serviceAt(host, this.#context)?.host ?? host
  }

  #makeHostRoutes(name: string, table: RouteTable, hosts: ReadonlySet<string>): MadeResource {
    const spec = resolveHostRoutes(table, this.#trust(), this.#context)
    return { resource: versioned(name, encodeHostRoutes(spec)), hosts: new Set([...hosts, TRUST]) }
  }

  #makeCluster(typeUrl: string, name: string): MadeResource {
    const key = parseClusterName(name)
    if (key === undefined) return { resource: undefined, hosts: NOTHING }
    const hosts = new Set(hostCandidates(key.host, "", this.#context.clusterDomain))
    const cluster = resolveCluster(name, this.#context)
    if (cluster === undefined) return { resource: undefined, hosts }
    const value =
      typeUrl === CLUSTER ? this.#encoders.cluster(cluster) : this.#encoders.endpoints(name, cluster.endpoints)
    return { resource: versioned(name, value), hosts }
  }
}

/** A caller who knows only the cluster IP sends it as the authority. */
function addressedAs(spelling: string, table: RouteTable): RouteTable {
  if (isIP(spelling) === 0 || spelling === table.host) return table
  return { ...table, aliases: [...table.aliases, isIP(spelling) === 6 ? `[${spelling}]` : spelling] }
}

/** Whether its names are hosts with ports; those of the others are clusters. */
export function isTableType(typeUrl: string): boolean {
  return typeUrl === LISTENER || typeUrl === ROUTE_CONFIGURATION || typeUrl === HOST_ROUTES
}

function onlyPort(ports: readonly { readonly port: number }[] = []): number | undefined {
  return ports.length === 1 ? ports[0]?.port : undefined
}

/** The version follows from the contents, so that all replicas call the same contents the same. */
function versioned(name: string, value: Uint8Array): VersionedResource {
  return { name, version: createHash("sha256").update(value).digest("base64url").slice(0, 16), value }
}
