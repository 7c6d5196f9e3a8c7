// SPDX-License-Identifier: Apache-2.0
// The mTLS modes of workloads' ports, from the PeerAuthentications in effect, cached per workload until one of them
// changes.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { PeerAuthentication } from "@merlon/policy/resources"
import { type EffectiveMode, PeerModes } from "@merlon/policy/selection"
import { Emitter } from "@merlon/xds/runtime"
import type { Documents } from "../policies/documents-in-force.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"

export class PeerModeSource {
  readonly #mesh: MeshConfig
  readonly #byNamespace = new Map<string, Set<PeerAuthentication>>()
  readonly #changes = new Emitter<[namespace: string | undefined]>()
  /** By workload value: a changed workload is a new value. */
  #modes = new WeakMap<MeshWorkload, PeerModes>()
  readonly #stop: () => void

  constructor(documents: Documents<PeerAuthentication>, mesh: MeshConfig) {
    this.#mesh = mesh
    for (const document of documents.items.values()) this.#file(document)
    this.#stop = documents.onChange(({ object, previous }) => {
      if (previous !== undefined) this.#byNamespace.get(previous.metadata.namespace)?.delete(previous)
      if (object !== undefined) this.#file(object)
      const namespace = (object ?? previous)?.metadata.namespace
      if (namespace === undefined) return
      this.#modes = new WeakMap()
      const scope = namespace === mesh.names.rootNamespace ? undefined : namespace
      this.#changes.emit(scope)
    })
  }

  readonly modeOf = (workload: MeshWorkload, port: number): EffectiveMode => {
    let modes = this.#modes.get(workload)
    if (modes === undefined) {
      modes = new PeerModes(this.#documentsFor(workload.namespace), workload, this.#mesh)
      this.#modes.set(workload, modes)
    }
    return modes.resolve(port).mode
  }

  /** Called with the namespace whose workloads' modes may have changed; undefined means all of them. */
  onChange(listener: (namespace: string | undefined) => void): () => void {
    return this.#changes.on(listener)
  }

  close(): void {
    this.#stop()
    this.#changes.clear()
  }

  #file(document: PeerAuthentication): void {
    const { namespace } = document.metadata
    const filed = this.#byNamespace.get(namespace) ?? new Set()
    filed.add(document)
    this.#byNamespace.set(namespace, filed)
  }

  *#documentsFor(namespace: string): Iterable<PeerAuthentication> {
    const { rootNamespace } = this.#mesh.names
    yield* this.#byNamespace.get(rootNamespace) ?? []
    if (namespace !== rootNamespace) yield* this.#byNamespace.get(namespace) ?? []
  }
}
