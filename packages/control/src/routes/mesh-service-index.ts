// SPDX-License-Identifier: Apache-2.0
// MeshServices by host, and those that apply to a caller's namespace (`host-governance.ts`): one routes the host,
// several may define its subsets and its TLS mode, in order of governance.

import type { Destination, MeshService } from "@merlon/policy/resources"
import { appliesTo, byPrecedence, hostsOf, type MeshScope } from "./host-governance.js"
import { hostCandidates } from "./host-name.js"

export interface MeshServiceRef {
  readonly namespace: string
  readonly name: string
}

export class MeshServiceIndex {
  readonly #scope: MeshScope
  readonly #documents = new Map<string, MeshService>()
  /** By host, in the order of precedence. */
  readonly #governing = new Map<string, readonly MeshService[]>()
  readonly #routing = new Map<string, readonly MeshService[]>()

  constructor(scope: MeshScope, documents: Iterable<MeshService> = []) {
    this.#scope = scope
    for (const document of documents) this.set(keyOf(document.metadata), document)
  }

  /** Replaces a document, or removes it if undefined. Returns the hosts whose routes or clusters may change. */
  set(key: string, document: MeshService | undefined): ReadonlySet<string> {
    const touched = new Set<string>()
    const previous = this.#documents.get(key)
    if (previous !== undefined) {
      for (const host of hostsOf(previous, this.#scope)) remove(this.#governing, host, previous, touched)
      for (const host of this.#destinationsOf(previous)) remove(this.#routing, host, previous, touched)
    }
    if (document === undefined) {
      this.#documents.delete(key)
      return touched
    }
    this.#documents.set(key, document)
    for (const host of hostsOf(document, this.#scope)) this.#add(this.#governing, host, document, touched)
    for (const host of this.#destinationsOf(document)) this.#add(this.#routing, host, document, touched)
    return touched
  }

  /** The document whose routes apply to callers of a namespace. */
  governing(host: string, caller: string | undefined): MeshService | undefined {
    return this.#governing.get(host)?.find(document => this.#appliesTo(document, host, caller))
  }

  /** All documents that affect connections to the host: the one that governs it first, then those that route to it. */
  affecting(host: string, caller: string | undefined): readonly MeshService[] {
    const governing = this.governing(host, caller)
    const routing = (this.#routing.get(host) ?? []).filter(document => this.#appliesTo(document, host, caller))
    return governing === undefined ? routing : [governing, ...routing.filter(document => document !== governing)]
  }

  /** All documents that govern the host, for callers of any namespace. */
  governedBy(host: string): readonly MeshService[] {
    return this.#governing.get(host) ?? []
  }

  /** All documents with routes to the host, for callers of any namespace. */
  routingTo(host: string): readonly MeshService[] {
    return this.#routing.get(host) ?? []
  }

  /** Hosts that a MeshService governs. */
  get hosts(): Iterable<string> {
    return this.#governing.keys()
  }

  #appliesTo({ metadata }: MeshService, host: string, caller: string | undefined): boolean {
    return appliesTo(metadata.namespace, host, caller, this.#scope)
  }

  #add(index: ByHost, host: string, document: MeshService, touched: Set<string>): void {
    index.set(host, [...(index.get(host) ?? []), document].sort(byPrecedence(host, this.#scope)))
    touched.add(host)
  }

  #destinationsOf(document: MeshService): ReadonlySet<string> {
    const { namespace } = document.metadata
    return new Set(
      destinationsOf(document).flatMap(destination =>
        hostCandidates(addressedHost(destination), namespace, this.#scope.clusterDomain),
      ),
    )
  }
}

export function destinationsOf({ spec }: MeshService): readonly Destination[] {
  const routes = [...(spec.rules ?? []).flatMap(rule => [...(rule.route ?? []), ...(rule.routes ?? [])])]
  return [...routes, ...(spec.routes ?? [])].flatMap(route => route.service ?? [])
}

export function isSubset({ labels }: Destination): boolean {
  return labels !== undefined && Object.keys(labels).length > 0
}

/** A destination with labels is a subset of its host; without labels, `name` is the Service to call. */
export function addressedHost(destination: Destination): string {
  return isSubset(destination) ? destination.host : (destination.name ?? destination.host)
}

export function keyOf({ namespace, name }: MeshServiceRef): string {
  return `${namespace}/${name}`
}

type ByHost = Map<string, readonly MeshService[]>

function remove(index: ByHost, host: string, document: MeshService, touched: Set<string>): void {
  const rest = (index.get(host) ?? []).filter(other => other !== document)
  if (rest.length === 0) index.delete(host)
  else index.set(host, rest)
  touched.add(host)
}
