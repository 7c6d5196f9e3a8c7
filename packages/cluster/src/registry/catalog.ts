// SPDX-License-Identifier: Apache-2.0
// The kinds that are currently served: the built-in kinds and the kinds of every established CRD. It watches the store
// itself, so a CRD is served as soon as its condition Established is written.

import { type BuiltinResource, builtinResources } from "../kinds/resource-table.js"
import { isCondition } from "../schema/crd.js"
import type { Store, StoreEvent, Watch } from "../store/store.js"
import type { JsonObject } from "../value.js"
import { builtinKinds } from "./builtin-kind.js"
import { type CustomKind, compareVersions, customKinds } from "./custom-kind.js"
import type { Kind } from "./kind.js"

const CRD_PREFIX = "/registry/apiextensions.k8s.io/customresourcedefinitions/"

/** Groups and resources of the aggregated API servers. */
export interface AggregatedApis {
  groups(): ReadonlyMap<string, readonly string[]>
  resources(group: string, version: string): readonly JsonObject[]
}

const NO_APIS: AggregatedApis = { groups: () => new Map(), resources: () => [] }

export class Catalog {
  readonly #builtin = new Map<string, Kind>()
  readonly #virtual = new Map<string, BuiltinResource>()
  readonly #custom = new Map<string, CustomKind>()
  readonly #byCrd = new Map<string, CustomKind[]>()
  #watch: Watch | undefined
  #behind: AggregatedApis = NO_APIS
  /** Increased with every change of the served kinds; caches of derived documents use it as key. */
  generation = 0

  constructor() {
    for (const kind of builtinKinds()) this.#builtin.set(id(kind.info.group, kind.info.version, kind.info.plural), kind)
    for (const info of builtinResources)
      if (info.virtual) this.#virtual.set(id(info.group, info.version, info.plural), info)
  }

  /** Sets the API servers that serve additional groups. */
  aggregate(behind: AggregatedApis): void {
    this.#behind = behind
  }

  /** Versions by group, only for groups that this server does not serve itself. */
  aggregatedGroups(): ReadonlyMap<string, readonly string[]> {
    const own = this.customGroups()
    return new Map([...this.#behind.groups()].filter(([group]) => !own.has(group) && !this.isBuiltinGroup(group)))
  }

  aggregatedResources(group: string, version: string): readonly JsonObject[] {
    return this.#behind.resources(group, version)
  }

  async follow(store: Store): Promise<void> {
    const { entries, revision } = await store.range({ prefix: CRD_PREFIX })
    for (const entry of entries) this.#install(entry.key, entry.object)
    this.#watch = store.watch(CRD_PREFIX, revision, event => this.#changed(event))
  }

  close(): void {
    this.#watch?.close()
  }

  #changed(event: StoreEvent): void {
    if (event.entry === undefined) this.#remove(event.key)
    else this.#install(event.key, event.entry.object)
  }

  #install(key: string, crd: JsonObject): void {
    this.#remove(key)
    if (!isCondition(crd, "Established")) return
    const kinds = customKinds(crd)
    this.#byCrd.set(key, kinds)
    for (const kind of kinds) this.#custom.set(id(kind.info.group, kind.info.version, kind.info.plural), kind)
    this.generation++
  }

  #remove(key: string): void {
    for (const kind of this.#byCrd.get(key) ?? [])
      this.#custom.delete(id(kind.info.group, kind.info.version, kind.info.plural))
    if (this.#byCrd.delete(key)) this.generation++
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    const key = id(group, version, plural)
    return this.#builtin.get(key) ?? this.#custom.get(key)
  }

  virtual(group: string, version: string, plural: string): BuiltinResource | undefined {
    return this.#virtual.get(id(group, version, plural))
  }

  builtin(group: string, version: string, plural: string): Kind {
    const kind = this.#builtin.get(id(group, version, plural))
    if (kind === undefined) throw new Error(`no built-in resource ${plural}`)
    return kind
  }

  /** Whether the group is one of Kubernetes' own. Unknown paths in those groups get a different response. */
  isBuiltinGroup(group: string): boolean {
    return builtinResources.some(info => info.group === group)
  }

  kinds(): Kind[] {
    return [...this.#builtin.values(), ...this.customKinds()]
  }

  customKinds(): CustomKind[] {
    return [...this.#custom.values()]
  }

  byKind(apiVersion: string, kind: string): Kind | undefined {
    return this.kinds().find(({ info }) => info.apiVersion === apiVersion && info.kind === kind)
  }

  /** The kind of the objects below a key, in any of its versions. */
  storing(key: string): Kind | undefined {
    return this.kinds().find(({ info }) => key.startsWith(info.prefix))
  }

  customGroups(): Map<string, string[]> {
    const groups = new Map<string, Set<string>>()
    for (const { info } of this.#custom.values())
      groups.set(info.group, (groups.get(info.group) ?? new Set()).add(info.version))
    return new Map(
      [...groups]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([group, versions]) => [group, [...versions].sort(compareVersions)]),
    )
  }
}

function id(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`
}
