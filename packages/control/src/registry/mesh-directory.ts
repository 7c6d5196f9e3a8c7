// SPDX-License-Identifier: Apache-2.0
// What the registry answers: who is in the mesh, and who stands behind a Service. Whoever asks gets told what a change
// touched, so that nothing else has to be looked at again.

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
  /** Undefined for a Service without one, whose endpoints nobody can tell from labels. */
  readonly selector: { readonly [key: string]: string } | undefined
  readonly ports: readonly ServicePort[]
}

export interface DirectoryChange {
  /** Keys of workloads that came, went or changed in any way. */
  readonly workloads: ReadonlySet<string>
  /** Hosts of Services that came, went, changed, or have other endpoints now. */
  readonly services: ReadonlySet<string>
}

export interface MeshDirectory {
  readonly workloads: ReadonlyMap<string, MeshWorkload>
  /** By host. */
  readonly services: ReadonlyMap<string, MeshServiceEntry>
  /** Workloads that have all the labels, of one namespace or of all; by index, not by search. */
  select(labels: { readonly [key: string]: string }, namespace: string | undefined): Iterable<MeshWorkload>
  /** Those the Service's selector selects, ready or not. */
  behind(service: MeshServiceEntry): Iterable<MeshWorkload>
  onChange(listener: (change: DirectoryChange) => void): () => void
}
