// SPDX-License-Identifier: Apache-2.0
// Routes on demand, as standard xDS and for our own clients: a resource is built when a client watches it and rebuilt
// when one of its inputs changes. Watches are notified only if the result differs.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { MeshService } from "@merlon/policy/resources"
import { OUTBOUND_POLICY, type RouteEncoders } from "@merlon/xds"
import type { VersionedResource } from "@merlon/xds/server"
import type { TrustSource } from "../authority/trust-source.js"
import type { RouteClient, RouteResources, RouteWatch } from "../distribution/delegate.js"
import type { Documents } from "../policies/documents-in-force.js"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import { Burst, type Scheduler, SYSTEM_SCHEDULER } from "../snapshot/burst.js"
import { hostCandidates, parseAuthority } from "./host-name.js"
import { serviceAt } from "./known-address.js"
import { MeshServiceIndex } from "./mesh-service-index.js"
import type { OutboundModes } from "./outbound-modes.js"
import { OutboundPolicies } from "./outbound-policies.js"
import type { PeerModeSource } from "./peer-mode-source.js"
import { isTableType, modeOfNamespace, ResourceMaker, ROUTE_TYPES, TRUST } from "./resource-maker.js"
import { RouteCatalog } from "./route-catalog.js"
import { type RouteContext, scopeOf } from "./route-context.js"
import { StreamWatch } from "./route-watch.js"

export interface MeshRoutesOptions {
  readonly directory: MeshDirectory
  readonly meshServices: Documents<MeshService>
  readonly modes: Pick<PeerModeSource, "modeOf" | "onChange">
  /** `ALLOW_ANY` everywhere if undefined. */
  readonly outboundModes?: OutboundModes
  readonly trust: TrustSource
  readonly encoders: RouteEncoders
  readonly mesh: MeshConfig
  /** `cluster.local` if undefined. */
  readonly clusterDomain?: string
  readonly scheduler?: Scheduler
}

const ALLOW_ANY: OutboundModes = { modeOf: () => "ALLOW_ANY", onChange: () => () => undefined }

type Watch = StreamWatch<Entry>

/** Exists only while a proxy of the namespace watches everything. */
interface Wildcards {
  readonly catalog: RouteCatalog
  readonly watches: Map<Watch, string>
}

interface Entry {
  readonly key: string
  readonly typeUrl: string
  readonly name: string
  readonly namespace: string
  readonly watches: Set<Watch>
  resource: VersionedResource | undefined
  hosts: ReadonlySet<string>
}

export class MeshRoutes implements RouteResources {
  readonly #context: RouteContext
  readonly #index: MeshServiceIndex
  readonly #policies: OutboundPolicies
  readonly #maker: ResourceMaker
  readonly #burst: Burst
  readonly #entries = new Map<string, Entry>()
  readonly #byHost = new Map<string, Set<Entry>>()
  /** Watches of everything, by the caller's namespace and the type. */
  readonly #wildcards = new Map<string, Wildcards>()
  readonly #dirty = new Set<string>()
  readonly #waking = new Set<Watch>()
  readonly #stops: readonly (() => void)[]
  #revision = 0

  constructor(options: MeshRoutesOptions) {
    const { directory, meshServices, modes, trust, encoders, mesh, clusterDomain = "cluster.local" } = options
    this.#index = new MeshServiceIndex(scopeOf({ mesh, clusterDomain }), meshServices.items.values())
    this.#context = { meshServices: this.#index, directory, mesh, modeOf: modes.modeOf, clusterDomain }
    const outboundModes = options.outboundModes ?? ALLOW_ANY
    this.#policies = new OutboundPolicies({ ...this.#context, directory }, outboundModes)
    this.#maker = new ResourceMaker({
      context: this.#context,
      encoders,
      trust: () => trust.current,
      outbound: { modes: outboundModes, policies: this.#policies },
    })
    this.#burst = new Burst(() => this.#notify(), options.scheduler ?? SYSTEM_SCHEDULER)
    this.#stops = [
      // A change of a workload includes its addresses and its Services.
      directory.onChange(({ workloads, services, addresses }) => {
        this.#policies.touch(workloads, services)
        this.#mark([...services, ...addresses])
      }),
      meshServices.onChange(({ key, object }) => {
        const hosts = this.#index.set(key, object)
        this.#policies.touch([], hosts)
        this.#mark(hosts)
      }),
      outboundModes.onChange(namespace => this.#mark([modeOfNamespace(namespace)])),
      modes.onChange(namespace => this.#modesChanged(namespace)),
      trust.onChange(() => this.#mark([TRUST])),
    ]
  }

  /** Which document governs which host, for the status of the documents that do not. */
  get meshServices(): MeshServiceIndex {
    return this.#index
  }

  /** Every host that `host:port` may mean for callers of a namespace; a cluster IP means its Service. */
  hostsNamed(name: string, namespace: string): readonly string[] {
    const host = parseAuthority(name)?.host
    if (host === undefined) return []
    const service = serviceAt(host, this.#context)
    return service === undefined ? hostCandidates(host, namespace, this.#context.clusterDomain) : [service.host]
  }

  serves(typeUrl: string): boolean {
    return ROUTE_TYPES.has(typeUrl)
  }

  watch(client: RouteClient, typeUrl: string, names: "*" | ReadonlySet<string>, wake: () => void): RouteWatch {
    const { namespace } = client.caller
    const watch = new StreamWatch<Entry>(wake, {
      settle: () => this.#settle(),
      nextRevision: () => ++this.#revision,
      closed: closed => this.#closed(namespace, closed),
    })
    const wanted = names === "*" ? this.#watchAll(watch, typeUrl, namespace) : names
    for (const name of wanted) this.#join(watch, typeUrl, name, namespace)
    return watch
  }

  #watchAll(watch: Watch, typeUrl: string, namespace: string): Iterable<string> {
    // An existing catalog must be up to date: pending changes are part of the new watch already.
    this.#settle()
    const wildcards = this.#wildcards.get(namespace) ?? {
      catalog: new RouteCatalog(this.#context, namespace),
      watches: new Map<Watch, string>(),
    }
    this.#wildcards.set(namespace, wildcards)
    wildcards.watches.set(watch, typeUrl)
    return wildcards.catalog.names(typeUrl)
  }

  close(): void {
    this.#burst.stop()
    for (const stop of this.#stops) stop()
  }

  /** Modes affect the endpoints of Services, which select only in their own namespace, and of addresses. */
  #modesChanged(namespace: string | undefined): void {
    const { directory } = this.#context
    this.#policies.touchNamespace(namespace)
    this.#mark([OUTBOUND_POLICY])
    for (const host of this.#byHost.keys()) {
      const service = directory.services.get(host)
      const known = service === undefined ? [...directory.at(host).workloads] : [service]
      if (known.some(each => namespace === undefined || each.namespace === namespace)) this.#mark([host])
    }
  }

  #mark(hosts: Iterable<string>): void {
    if (this.#entries.size === 0 && this.#wildcards.size === 0) return
    for (const host of hosts) this.#dirty.add(host)
    if (this.#dirty.size > 0) this.#burst.request()
  }

  #notify(): void {
    this.#settle()
    const woken = [...this.#waking]
    this.#waking.clear()
    for (const watch of woken) watch.wake()
  }

  /** Recomputes what the changes so far affect. INVARIANT: notifies no watch, since readers call it too. */
  #settle(): void {
    if (this.#dirty.size === 0) return
    const hosts = [...this.#dirty, ...(this.#policies.settle() ? [OUTBOUND_POLICY] : [])]
    this.#dirty.clear()
    const entries = new Set(hosts.flatMap(host => [...(this.#byHost.get(host) ?? [])]))
    for (const entry of entries) {
      const version = entry.resource?.version
      this.#make(entry)
      if (entry.resource?.version !== version) for (const watch of entry.watches) this.#changed(watch)
    }
    for (const [namespace, { catalog, watches }] of this.#wildcards) {
      if (!catalog.refresh(hosts)) continue
      for (const [watch, typeUrl] of watches) this.#rename(watch, typeUrl, new Set(catalog.names(typeUrl)), namespace)
    }
  }

  #changed(watch: Watch): void {
    watch.touch()
    this.#waking.add(watch)
  }

  /** Updates the names of a watch of everything after hosts were added or removed. */
  #rename(watch: Watch, typeUrl: string, names: Set<string>, namespace: string): void {
    let changed = false
    for (const entry of [...watch.entries]) {
      if (names.delete(entry.name)) continue
      this.#leave(watch, entry)
      changed = true
    }
    for (const name of names) {
      this.#join(watch, typeUrl, name, namespace)
      changed = true
    }
    if (changed) this.#changed(watch)
  }

  #join(watch: Watch, typeUrl: string, name: string, namespace: string): void {
    const key = keyOf(typeUrl, name, namespace)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { key, typeUrl, name, namespace, watches: new Set(), resource: undefined, hosts: new Set() }
      this.#entries.set(key, entry)
      this.#make(entry)
    }
    entry.watches.add(watch)
    watch.entries.add(entry)
  }

  #leave(watch: Watch, entry: Entry): void {
    watch.entries.delete(entry)
    entry.watches.delete(watch)
    if (entry.watches.size > 0) return
    this.#entries.delete(entry.key)
    unfile(this.#byHost, entry.hosts, entry)
  }

  #make(entry: Entry): void {
    const { resource, hosts } = this.#maker.make(entry.typeUrl, entry.name, entry.namespace)
    unfile(this.#byHost, entry.hosts, entry)
    file(this.#byHost, hosts, entry)
    Object.assign(entry, { resource, hosts })
  }

  #closed(namespace: string, watch: Watch): void {
    this.#waking.delete(watch)
    for (const entry of [...watch.entries]) this.#leave(watch, entry)
    const watches = this.#wildcards.get(namespace)?.watches
    watches?.delete(watch)
    if (watches?.size === 0) this.#wildcards.delete(namespace)
  }
}

/** A host may be another one, or have other routes, for callers of another namespace; a cluster is the same for all. */
function keyOf(typeUrl: string, name: string, namespace: string): string {
  return JSON.stringify([typeUrl, name, isTableType(typeUrl) ? namespace : ""])
}

function file(index: Map<string, Set<Entry>>, keys: Iterable<string>, entry: Entry): void {
  for (const key of keys) {
    const filed = index.get(key) ?? new Set()
    index.set(key, filed.add(entry))
  }
}

function unfile(index: Map<string, Set<Entry>>, keys: Iterable<string>, entry: Entry): void {
  for (const key of keys) {
    const filed = index.get(key)
    filed?.delete(entry)
    if (filed?.size === 0) index.delete(key)
  }
}
