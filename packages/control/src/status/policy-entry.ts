// SPDX-License-Identifier: Apache-2.0
// One stored resource as the status controller knows it, and the indexes that lead from a change to the few resources
// whose status it may touch.

import { isDeepStrictEqual } from "node:util"
import { type Kind, type MeshNames, type PolicyDocument, type Status, validate } from "@merlon/policy"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import type { EnforcementTally } from "./enforcement.js"
import { keySetsOf } from "./expected-versions.js"
import { governedHosts } from "./mesh-service-reach.js"
import { statusKey } from "./status-inputs.js"

export interface PolicyEntry {
  readonly key: string
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  object: KubernetesObject
  readonly document: PolicyDocument | undefined
  readonly faults: readonly string[]
  readonly keySets: readonly string[]
  /** Undefined where it has to be counted anew. */
  tally: EnforcementTally | undefined
  /** Hosts that a MeshService speaks for, in their full spelling. */
  readonly governs: ReadonlySet<string>
  /** Hosts that a MeshService leads to, as last looked at. */
  hosts: ReadonlySet<string>
  /** What we wrote last, as long as we have not seen it come back. */
  written: Status | undefined
}

const NO_HOSTS: ReadonlySet<string> = new Set()

export function entryOf(kind: Kind, object: KubernetesObject, names: MeshNames, clusterDomain: string): PolicyEntry {
  const { namespace = "default", name } = object.metadata
  const { document, faults } = validate(object, names)
  const valid = document?.kind === kind ? document : undefined
  return {
    key: statusKey(kind, namespace, name),
    kind,
    namespace,
    name,
    object,
    document: valid,
    faults: faults.map(({ message }) => message),
    keySets: valid === undefined ? [] : keySetsOf(valid),
    governs: valid?.kind === "MeshService" ? governedHosts(valid, clusterDomain) : NO_HOSTS,
    tally: undefined,
    hosts: NO_HOSTS,
    written: undefined,
  }
}

/** Whether nothing changed but the status and what means nothing to us. */
export function meansTheSame(a: KubernetesObject, b: KubernetesObject, { dryRunAnnotation }: MeshNames): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    a.metadata.creationTimestamp === b.metadata.creationTimestamp &&
    a.metadata.annotations?.[dryRunAnnotation] === b.metadata.annotations?.[dryRunAnnotation] &&
    isDeepStrictEqual(a.spec, b.spec)
  )
}

export class PolicyEntries {
  readonly #entries = new Map<string, PolicyEntry>()
  readonly #byNamespace = new Map<string, Set<PolicyEntry>>()
  readonly #byKeySet = new Map<string, Set<PolicyEntry>>()
  readonly #byHost = new Map<string, Set<PolicyEntry>>()
  readonly #meshServices = new Set<PolicyEntry>()

  get(key: string): PolicyEntry | undefined {
    return this.#entries.get(key)
  }

  get all(): Iterable<PolicyEntry> {
    return this.#entries.values()
  }

  get meshServices(): Iterable<PolicyEntry> {
    return this.#meshServices
  }

  inNamespace(namespace: string): Iterable<PolicyEntry> {
    return this.#byNamespace.get(namespace) ?? []
  }

  withKeySet(id: string): Iterable<PolicyEntry> {
    return this.#byKeySet.get(id) ?? []
  }

  /** MeshServices that speak for one of the hosts. */
  governing(hosts: Iterable<string>): ReadonlySet<PolicyEntry> {
    const found = new Set<PolicyEntry>()
    for (const host of hosts) for (const entry of this.#byHost.get(host) ?? []) found.add(entry)
    return found
  }

  set(entry: PolicyEntry): void {
    this.delete(entry.key)
    this.#entries.set(entry.key, entry)
    file(this.#byNamespace, entry.namespace, entry)
    for (const id of entry.keySets) file(this.#byKeySet, id, entry)
    for (const host of entry.governs) file(this.#byHost, host, entry)
    if (entry.kind === "MeshService") this.#meshServices.add(entry)
  }

  delete(key: string): PolicyEntry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    unfile(this.#byNamespace, entry.namespace, entry)
    for (const id of entry.keySets) unfile(this.#byKeySet, id, entry)
    for (const host of entry.governs) unfile(this.#byHost, host, entry)
    this.#meshServices.delete(entry)
    return entry
  }
}

function file(index: Map<string, Set<PolicyEntry>>, key: string, entry: PolicyEntry): void {
  const filed = index.get(key)
  if (filed === undefined) index.set(key, new Set([entry]))
  else filed.add(entry)
}

function unfile(index: Map<string, Set<PolicyEntry>>, key: string, entry: PolicyEntry): void {
  const filed = index.get(key)
  filed?.delete(entry)
  if (filed?.size === 0) index.delete(key)
}
