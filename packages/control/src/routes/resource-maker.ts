// SPDX-License-Identifier: Apache-2.0
// Builds one resource by type and name, for standard xDS or for our own clients, and records its inputs: it is rebuilt
// only if one of them changes.

import { isIP } from "node:net"
import {
  CLUSTER,
  ENDPOINTS,
  encodeHostRoutes,
  HOST_ROUTES,
  LISTENER,
  OUTBOUND_POLICY,
  parseClusterName,
  ROUTE_CONFIGURATION,
  type RouteEncoders,
  type RouteTable,
  type TrustSpec,
} from "@merlon/xds"
import type { VersionedResource } from "@merlon/xds/server"
import { authorityOf, hostCandidates, parseAuthority } from "./host-name.js"
import { isRegistered, serviceAt } from "./known-address.js"
import { addressedHost, destinationsOf } from "./mesh-service-index.js"
import type { OutboundModes } from "./outbound-modes.js"
import type { OutboundPolicies } from "./outbound-policies.js"
import { resolveCluster } from "./resolve-cluster.js"
import { type AddressAndPort, passThroughRoutes, resolveHostRoutes } from "./resolve-host-routes.js"
import { resolveRoutes } from "./resolve-routes.js"
import { canonicalHost, type RouteContext } from "./route-context.js"
import { contentVersioned } from "./versioned.js"

export interface MadeResource {
  /** Undefined if there is no such resource now. */
  readonly resource: VersionedResource | undefined
  /** Hosts that were looked up, found or not. */
  readonly hosts: ReadonlySet<string>
}

export const ROUTE_TYPES: ReadonlySet<string> = new Set([
  LISTENER,
  ROUTE_CONFIGURATION,
  CLUSTER,
  ENDPOINTS,
  HOST_ROUTES,
])

/** Marks a resource that depends on trust, in the set of its hosts; no host has such a name. */
export const TRUST = "|trust"

/** Marks a resource that depends on the outbound mode of the namespace, in the set of its hosts. */
export function modeOfNamespace(namespace: string): string {
  return `${OUTBOUND_POLICY} ${namespace}`
}

export interface ResourceMakerOptions {
  readonly context: RouteContext
  readonly encoders: RouteEncoders
  readonly trust: () => TrustSpec
  readonly outbound: { readonly modes: OutboundModes; readonly policies: OutboundPolicies }
}

const NOTHING: ReadonlySet<string> = new Set()

export class ResourceMaker {
  readonly #context: RouteContext
  readonly #encoders: RouteEncoders
  readonly #trust: () => TrustSpec
  readonly #outbound: ResourceMakerOptions["outbound"]

  constructor({ context, encoders, trust, outbound }: ResourceMakerOptions) {
    this.#context = context
    this.#encoders = encoders
    this.#trust = trust
    this.#outbound = outbound
  }

  /** `namespace` is that of the caller: a host without a dot is a Service there, and its MeshServices apply. */
  make(typeUrl: string, name: string, namespace: string): MadeResource {
    if (typeUrl === HOST_ROUTES && name === OUTBOUND_POLICY) {
      const hosts = new Set([OUTBOUND_POLICY, modeOfNamespace(namespace)])
      return { resource: this.#outbound.policies.make(namespace), hosts }
    }
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
    if (resolved === undefined) {
      if (typeUrl !== HOST_ROUTES || port === undefined || isIP(host) === 0) return { resource: undefined, hosts }
      return this.#makeUnrouted(name, { host, port }, namespace, hosts)
    }
    const table = addressedAs(authority.host, resolved)
    if (typeUrl === HOST_ROUTES) return this.#makeHostRoutes(name, table, hosts)
    const value =
      typeUrl === LISTENER
        ? this.#encoders.listener(name, authorityOf(host, table.port))
        : this.#encoders.routes(name, table)
    return { resource: contentVersioned(name, value), hosts }
  }

  /**
   * A cluster IP means its Service, even if a MeshService names the address: otherwise that would bypass the settings
   * of the Service's owner.
   */
  #hostOf(spelling: string, namespace: string): string {
    const host = canonicalHost(spelling, namespace, this.#context)
    return serviceAt(host, this.#context)?.host ?? host
  }

  #makeHostRoutes(name: string, table: RouteTable, hosts: ReadonlySet<string>): MadeResource {
    const spec = resolveHostRoutes(table, this.#trust(), this.#context)
    return { resource: contentVersioned(name, encodeHostRoutes(spec)), hosts: new Set([...hosts, TRUST]) }
  }

  /**
   * Destinations without routes are passed through, or rejected under REGISTRY_ONLY. In that mode the proxy has to know
   * which of them are in the cluster, such as the API server.
   */
  #makeUnrouted(name: string, at: AddressAndPort, namespace: string, hosts: ReadonlySet<string>): MadeResource {
    const isPassed =
      this.#outbound.modes.modeOf(namespace) === "REGISTRY_ONLY" && isRegistered(at.host, at.port, this.#context)
    const resource = isPassed
      ? contentVersioned(name, encodeHostRoutes(passThroughRoutes(at, this.#trust())))
      : undefined
    return { resource, hosts: new Set([...hosts, modeOfNamespace(namespace), ...(isPassed ? [TRUST] : [])]) }
  }

  #makeCluster(typeUrl: string, name: string): MadeResource {
    const key = parseClusterName(name)
    if (key === undefined) return { resource: undefined, hosts: NOTHING }
    const hosts = new Set(hostCandidates(key.host, "", this.#context.clusterDomain))
    const cluster = resolveCluster(name, this.#context)
    if (cluster === undefined) return { resource: undefined, hosts }
    const value =
      typeUrl === CLUSTER ? this.#encoders.cluster(cluster) : this.#encoders.endpoints(name, cluster.endpoints)
    return { resource: contentVersioned(name, value), hosts }
  }
}

/** A caller that knows only the cluster IP sends it as the authority. */
function addressedAs(spelling: string, table: RouteTable): RouteTable {
  if (isIP(spelling) === 0 || spelling === table.host) return table
  return { ...table, aliases: [...table.aliases, isIP(spelling) === 6 ? `[${spelling}]` : spelling] }
}

/** Whether the type's names are hosts with ports; names of other types are clusters. */
export function isTableType(typeUrl: string): boolean {
  return typeUrl === LISTENER || typeUrl === ROUTE_CONFIGURATION || typeUrl === HOST_ROUTES
}

function onlyPort(ports: readonly { readonly port: number }[] = []): number | undefined {
  return ports.length === 1 ? ports[0]?.port : undefined
}
