// SPDX-License-Identifier: Apache-2.0
// The registry's interface: who is in the mesh, and which workloads are behind a Service. Subscribers learn what a change
// affected, so that nothing else is computed again.

import type { MeshWorkload } from "./mesh-workload.js"

export interface ServicePort {
  readonly name: string | undefined
  /** What callers address. */
  readonly port: number
  /** `http`, `http2`, `grpc`, `tcp` or undefined where nothing says. */
  readonly appProtocol: string | undefined
  /** A container port by number or by name. */
  readonly targetPort: number | string
}

export interface MeshServiceEntry {
  readonly namespace: string
  readonly name: string
  /** `<name>.<namespace>.svc.<cluster domain>`. */
  readonly host: string
  /** Undefined for a Service without a selector, whose endpoints do not follow from labels. */
  readonly selector: { readonly [key: string]: string } | undefined
  readonly ports: readonly ServicePort[]
  /** Its cluster IPs, the primary one first; none for a headless Service. */
  readonly addresses: readonly string[]
}

export interface DirectoryChange {
  /** Keys of workloads that came, went or changed in any way. */
  readonly workloads: ReadonlySet<string>
  /** Hosts of Services that came, went, changed, or have other endpoints now. */
  readonly services: ReadonlySet<string>
  /** Addresses at which one of them was before, or is now. */
  readonly addresses: ReadonlySet<string>
}

/** What is known of one address. */
export interface AtAddress {
  readonly services: Iterable<MeshServiceEntry>
  readonly workloads: Iterable<MeshWorkload>
}

export interface MeshDirectory {
  readonly workloads: ReadonlyMap<string, MeshWorkload>
  /** By host. */
  readonly services: ReadonlyMap<string, MeshServiceEntry>
  /** Workloads that have all the labels, of one namespace or of all; by index, not by search. */
  select(labels: { readonly [key: string]: string }, namespace: string | undefined): Iterable<MeshWorkload>
  /** Those the Service's selector selects, ready or not. */
  behind(service: MeshServiceEntry): Iterable<MeshWorkload>
  at(address: string): AtAddress
  onChange(listener: (change: DirectoryChange) => void): () => void
}
