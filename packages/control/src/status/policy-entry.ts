// SPDX-License-Identifier: Apache-2.0
// One stored resource in the status controller, and indexes from a change to the few resources whose status it may
// affect.

import type { Kind, PolicyDocument, Status } from "@merlon/policy/resources"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { isSecurityPolicy, type StoredPolicy } from "../policies/stored-policy.js"
import { hostsOf, type MeshScope } from "../routes/host-governance.js"
import { keySetsOf } from "../snapshot/encoded-policy.js"
import type { EnforcementTally } from "./enforcement.js"
import { targetHosts } from "./service-targets.js"

export interface PolicyEntry {
  readonly key: string
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  object: KubernetesObject
  /** The document as written, if it is readable. */
  readonly document: PolicyDocument | undefined
  /** The version in effect, which matters to other documents. */
  readonly inForce: PolicyDocument | undefined
  readonly errors: readonly string[]
  readonly keySets: readonly string[]
  /** Undefined if it has to be counted again. */
  tally: EnforcementTally | undefined
  /** Hosts that a MeshService configures, as full names. */
  readonly governs: ReadonlySet<string>
  /** Hosts to which a MeshService routes, as last resolved, or that a policy names. */
  hosts: ReadonlySet<string>
  /** The status that we wrote last, until the watch returns it. */
  written: Status | undefined
}

const NO_HOSTS: ReadonlySet<string> = new Set()

export function entryOf(stored: StoredPolicy, scope: MeshScope): PolicyEntry {
  const { key, kind, namespace, name, object, written, inForce, errors } = stored
  return {
    key,
    kind,
    namespace,
    name,
    object,
    document: written,
    inForce,
    errors: errors.map(({ message }) => message),
    keySets: written !== undefined && isSecurityPolicy(written) ? keySetsOf(written) : [],
    governs: inForce?.kind === "MeshService" ? hostsOf(inForce, scope) : NO_HOSTS,
    tally: undefined,
    hosts: targetHosts(written, scope.clusterDomain),
    written: undefined,
  }
}

export class PolicyEntries {
  readonly #entries = new Map<string, PolicyEntry>()
  readonly #byNamespace = new Map<string, Set<PolicyEntry>>()
  readonly #byKeySet = new Map<string, Set<PolicyEntry>>()
  readonly #byHost = new Map<string, Set<PolicyEntry>>()
  readonly #namingHosts = new Set<PolicyEntry>()

  get(key: string): PolicyEntry | undefined {
    return this.#entries.get(key)
  }

  get all(): Iterable<PolicyEntry> {
    return this.#entries.values()
  }

  /** Entries that an added or removed Service can affect. */
  get namingHosts(): Iterable<PolicyEntry> {
    return this.#namingHosts
  }

  inNamespace(namespace: string): Iterable<PolicyEntry> {
    return this.#byNamespace.get(namespace) ?? []
  }

  withKeySet(id: string): Iterable<PolicyEntry> {
    return this.#byKeySet.get(id) ?? []
  }

  /** MeshServices that configure one of the hosts. */
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
    if (entry.kind === "MeshService" || entry.hosts.size > 0) this.#namingHosts.add(entry)
  }

  delete(key: string): PolicyEntry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    unfile(this.#byNamespace, entry.namespace, entry)
    for (const id of entry.keySets) unfile(this.#byKeySet, id, entry)
    for (const host of entry.governs) unfile(this.#byHost, host, entry)
    this.#namingHosts.delete(entry)
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
