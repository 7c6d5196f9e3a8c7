// SPDX-License-Identifier: Apache-2.0
// Addresses that must never be called in plaintext: Services for which a MeshService requires mTLS or whose workloads
// are STRICT, and those workloads. A change updates only the hosts and workloads that it affects, and hosts with routes
// to them.

import { isIP } from "node:net"
import type { MeshService } from "@merlon/policy/resources"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { hostsOf, isGuest } from "./host-governance.js"
import { hostCandidates } from "./host-name.js"
import { addressedHost, destinationsOf } from "./mesh-service-index.js"
import { mtlsBlocks } from "./mtls-blocks.js"
import { type RouteContext, scopeOf } from "./route-context.js"

/** Addresses that require mTLS for callers of some namespaces, or of all. */
interface Demand {
  readonly services: readonly string[]
  readonly pods: readonly string[]
  readonly callers: "*" | ReadonlySet<string>
}

export interface MtlsContext extends RouteContext {
  readonly directory: Pick<MeshDirectory, "services" | "workloads" | "behind" | "at" | "select">
}

/** A port that no policy can name, so it has the mode of the whole workload. */
const UNNAMED_PORT = 0

export class MtlsAddresses {
  readonly #context: MtlsContext
  /** By workload key: addresses of workloads with a port that accepts only mTLS. */
  readonly #strict = new Map<string, readonly string[]>()
  /** By host. */
  readonly #demands = new Map<string, Demand>()

  constructor(context: MtlsContext) {
    this.#context = context
    const { directory, meshServices } = context
    this.update(directory.workloads.keys(), [...directory.services.keys(), ...meshServices.hosts])
  }

  /** Recomputes what changed; returns whether the requirement of any address changed. */
  update(workloads: Iterable<string>, hosts: Iterable<string>): boolean {
    const { directory, meshServices } = this.#context
    const touched = new Set(hosts)
    let changed = false
    for (const key of workloads) {
      const workload = directory.workloads.get(key)
      const addresses = workload !== undefined && this.#isStrict(workload) ? workload.addresses : undefined
      changed = replace(this.#strict, key, addresses) || changed
    }
    for (const host of [...touched])
      for (const document of meshServices.routingTo(host))
        for (const governed of hostsOf(document, scopeOf(this.#context))) touched.add(governed)
    for (const host of touched) changed = replace(this.#demands, host, this.#demandOf(host)) || changed
    return changed
  }

  /** Addresses that callers of the namespace must not call in plaintext. */
  blocksFor(namespace: string): readonly string[] {
    const services: string[] = []
    const pods = [...this.#strict.values()].flat()
    for (const demand of this.#demands.values()) {
      if (demand.callers !== "*" && !demand.callers.has(namespace)) continue
      services.push(...demand.services)
      pods.push(...demand.pods)
    }
    return mtlsBlocks(services, pods)
  }

  /** Namespaces whose MeshServices require mTLS only for their own callers. */
  get guests(): ReadonlySet<string> {
    const guests = new Set<string>()
    for (const { callers } of this.#demands.values()) if (callers !== "*") for (const each of callers) guests.add(each)
    return guests
  }

  #isStrict(workload: MeshWorkload): boolean {
    const declared = workload.ports.map(({ port }) => port)
    // Fail closed: a workload without declared ports can listen on any port, with the mode of ports that no policy
    // names.
    const ports = declared.length === 0 ? [UNNAMED_PORT] : declared
    return workload.proxied && ports.some(port => this.#context.modeOf(workload, port) === "STRICT")
  }

  #demandOf(host: string): Demand | undefined {
    const { directory } = this.#context
    const service = directory.services.get(host)
    const addresses = isIP(host) === 0 ? (service?.addresses ?? []) : [host]
    const behind = service === undefined ? [] : [...directory.behind(service)]
    const callers = this.#demanded(host)
    if (callers !== undefined)
      return { services: addresses, pods: behind.flatMap(workload => workload.addresses), callers }
    if (addresses.length === 0 || !behind.some(({ key }) => this.#strict.has(key))) return undefined
    return { services: addresses, pods: [], callers: "*" }
  }

  /** Callers for which a MeshService requires mTLS: one for the host, or for a host to which its routes lead. */
  #demanded(host: string): Demand["callers"] | undefined {
    const { meshServices, clusterDomain } = this.#context
    const hosts = new Set([host])
    for (const document of meshServices.governedBy(host)) {
      const { namespace } = document.metadata
      for (const destination of destinationsOf(document))
        for (const spelt of hostCandidates(addressedHost(destination), namespace, clusterDomain)) hosts.add(spelt)
    }
    const callers = new Set<string>()
    for (const each of hosts) {
      for (const document of [...meshServices.governedBy(each), ...meshServices.routingTo(each)]) {
        if (!demandsMtls(document)) continue
        const { namespace } = document.metadata
        if (!isGuest(namespace, each, scopeOf(this.#context))) return "*"
        callers.add(namespace)
      }
    }
    return callers.size === 0 ? undefined : callers
  }
}

/** Whether some destination requires it. Which destination a connection takes is decided by its routes. */
function demandsMtls(document: MeshService): boolean {
  const policies = [document.spec, ...destinationsOf(document)].map(({ trafficPolicy }) => trafficPolicy)
  return policies.some(policy => policy?.tls?.mode === "DUBBO_MUTUAL")
}

/** Returns whether the value changed. */
function replace<V extends Demand | readonly string[]>(
  map: Map<string, V>,
  key: string,
  value: V | undefined,
): boolean {
  const before = map.get(key)
  if (value === undefined) map.delete(key)
  else map.set(key, value)
  return shown(before) !== shown(value)
}

function shown(value: Demand | readonly string[] | undefined): string | undefined {
  return JSON.stringify(value, (_, inner: unknown) => (inner instanceof Set ? [...inner].map(String).sort() : inner))
}
