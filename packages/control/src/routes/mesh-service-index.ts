// SPDX-License-Identifier: Apache-2.0
// The MeshServices by the hosts they speak of. Of several that govern one host, one of the Service's own namespace routes
// it, else the oldest; the others are told who stands in front of them. Of several that define one subset, whoever governs
// the host counts, then the same order.

import { byAge, type Destination, type MeshService } from "@merlon/policy"
import { hostCandidates } from "./host-name.js"

export interface MeshServiceRef {
  readonly namespace: string
  readonly name: string
}

export interface HostConflict {
  readonly host: string
  readonly winner: MeshServiceRef
  readonly losers: readonly MeshServiceRef[]
}

export class MeshServiceIndex {
  readonly #clusterDomain: string
  readonly #documents = new Map<string, MeshService>()
  /** By host, in the order of precedence. */
  readonly #governing = new Map<string, readonly MeshService[]>()
  readonly #leading = new Map<string, readonly MeshService[]>()

  constructor(clusterDomain: string, documents: Iterable<MeshService> = []) {
    this.#clusterDomain = clusterDomain
    for (const document of documents) this.set(keyOf(document.metadata), document)
  }

  /** Replaces or, with undefined, removes. Returns the hosts whose routes or clusters may be others now. */
  set(key: string, document: MeshService | undefined): ReadonlySet<string> {
    const touched = new Set<string>()
    const previous = this.#documents.get(key)
    if (previous !== undefined) {
      for (const host of this.#hostsOf(previous)) remove(this.#governing, host, previous, touched)
      for (const host of this.#destinationsOf(previous)) remove(this.#leading, host, previous, touched)
    }
    if (document === undefined) {
      this.#documents.delete(key)
      return touched
    }
    this.#documents.set(key, document)
    for (const host of this.#hostsOf(document)) add(this.#governing, host, document, touched)
    for (const host of this.#destinationsOf(document)) add(this.#leading, host, document, touched)
    return touched
  }

  /** The one whose routes are in force. */
  governing(host: string): MeshService | undefined {
    return this.#governing.get(host)?.[0]
  }

  /** All that have a say on connections to the host: who governs it first, then those that lead to it, oldest first. */
  speaking(host: string): readonly MeshService[] {
    const governing = this.governing(host)
    const leading = this.#leading.get(host) ?? []
    return governing === undefined ? leading : [governing, ...leading.filter(document => document !== governing)]
  }

  /** Hosts that some MeshService governs. */
  get hosts(): Iterable<string> {
    return this.#governing.keys()
  }

  /** Where several govern one host. A host of two labels appears under each name it may stand for. */
  *conflicts(): Iterable<HostConflict> {
    for (const [host, [winner, ...losers]] of this.#governing) {
      if (winner === undefined || losers.length === 0) continue
      yield { host, winner: refOf(winner), losers: losers.map(refOf) }
    }
  }

  #hostsOf({ metadata, spec }: MeshService): ReadonlySet<string> {
    return new Set(spec.hosts.flatMap(host => hostCandidates(host, metadata.namespace, this.#clusterDomain)))
  }

  #destinationsOf(document: MeshService): ReadonlySet<string> {
    const { namespace } = document.metadata
    return new Set(
      destinationsOf(document).flatMap(destination =>
        hostCandidates(addressedHost(destination), namespace, this.#clusterDomain),
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

/** With labels a destination is a subset of its host; without, `name` is the Service to call. */
export function addressedHost(destination: Destination): string {
  return isSubset(destination) ? destination.host : (destination.name ?? destination.host)
}

export function keyOf({ namespace, name }: MeshServiceRef): string {
  return `${namespace}/${name}`
}

function refOf({ metadata: { namespace, name } }: MeshService): MeshServiceRef {
  return { namespace, name }
}

type ByHost = Map<string, readonly MeshService[]>

/** Those of the Service's own namespace come first: nobody elsewhere may lead its callers away from it by being older. */
export function byPrecedence(host: string): (a: MeshService, b: MeshService) => number {
  const [, own, svc] = host.split(".")
  const isOwn = ({ metadata }: MeshService): boolean => svc === "svc" && metadata.namespace === own
  return (a, b) => Number(isOwn(b)) - Number(isOwn(a)) || byAge(a, b)
}

function add(index: ByHost, host: string, document: MeshService, touched: Set<string>): void {
  index.set(host, [...(index.get(host) ?? []), document].sort(byPrecedence(host)))
  touched.add(host)
}

function remove(index: ByHost, host: string, document: MeshService, touched: Set<string>): void {
  const rest = (index.get(host) ?? []).filter(other => other !== document)
  if (rest.length === 0) index.delete(host)
  else index.set(host, rest)
  touched.add(host)
}
