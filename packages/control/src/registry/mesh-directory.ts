// SPDX-License-Identifier: Apache-2.0
// The registry's interface: the workloads of the mesh, and which of them are behind a Service. Subscribers are told
// what a change affects, so that nothing else is computed again.

import type { MeshWorkload } from "./mesh-workload.js"

export interface ServicePort {
  readonly name: string | undefined
  /** The port that callers use. */
  readonly port: number
  /** `http`, `http2`, `grpc`, `tcp`, or undefined if it is not declared. */
  readonly appProtocol: string | undefined
  /** A container port by number or by name. */
  readonly targetPort: number | string
}

export interface MeshServiceEntry {
  readonly namespace: string
  readonly name: string
  /** `<name>.<namespace>.svc.<cluster domain>`. */
  readonly host: string
  /** Undefined for a Service without a selector, whose endpoints are not determined by labels. */
  readonly selector: { readonly [key: string]: string } | undefined
  readonly ports: readonly ServicePort[]
  /** Cluster IPs, the primary one first; empty for a headless Service. */
  readonly addresses: readonly string[]
}

export interface DirectoryChange {
  /** Keys of workloads that were added, removed or changed in any way. */
  readonly workloads: ReadonlySet<string>
  /** Hosts of Services that were added, removed or changed, or that have other endpoints now. */
  readonly services: ReadonlySet<string>
  /** Old and new addresses of these workloads and Services. */
  readonly addresses: ReadonlySet<string>
}

/** Services and workloads at one address. */
export interface AtAddress {
  readonly services: Iterable<MeshServiceEntry>
  readonly workloads: Iterable<MeshWorkload>
}

export interface MeshDirectory {
  readonly workloads: ReadonlyMap<string, MeshWorkload>
  /** By host name. */
  readonly services: ReadonlyMap<string, MeshServiceEntry>
  /** Workloads that have all the labels, in one namespace or in all; uses an index. */
  select(labels: { readonly [key: string]: string }, namespace: string | undefined): Iterable<MeshWorkload>
  /** Workloads that the Service's selector matches, ready or not. */
  behind(service: MeshServiceEntry): Iterable<MeshWorkload>
  at(address: string): AtAddress
  onChange(listener: (change: DirectoryChange) => void): () => void
}
