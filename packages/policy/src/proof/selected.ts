// SPDX-License-Identifier: Apache-2.0
// Finds the documents that apply to a workload. It looks them up by namespace, because a mesh has thousands of both.

import type { MeshConfig } from "../mesh/config.js"
import { peerScope } from "../peer/mode.js"
import type { PolicyDocument } from "../resources/document.js"
import { namespacesOf } from "../selection/istio-attachment.js"
import { applies } from "../selection/select.js"
import type { Workload } from "../selection/workload.js"

export class DocumentsByNamespace {
  readonly #byNamespace = new Map<string, { readonly document: PolicyDocument; readonly index: number }[]>()
  readonly #mesh: MeshConfig

  constructor(documents: readonly PolicyDocument[], mesh: MeshConfig) {
    this.#mesh = mesh
    for (const [index, document] of documents.entries()) {
      const { namespace } = document.metadata
      const list = this.#byNamespace.get(namespace)
      if (list === undefined) this.#byNamespace.set(namespace, [{ document, index }])
      else list.push({ document, index })
    }
  }

  /** The documents of the root namespace and of the workload's own: no others can apply to it. */
  near(workload: Workload): readonly PolicyDocument[] {
    return this.#near(workload).map(({ document }) => document)
  }

  /** INVARIANT: the same documents apply in the same way to workloads with equal `key`. */
  selected(workload: Workload): { readonly documents: readonly PolicyDocument[]; readonly key: string } {
    const selected = this.#near(workload).filter(({ document }) => concerns(document, workload, this.#mesh))
    // A gateway and a waypoint accept other callers than a sidecar does, under the same documents.
    const proxy = workload.gateway === undefined ? [] : [workload.gateway.isWaypoint ? "waypoint" : "gateway"]
    return {
      documents: selected.map(({ document }) => document),
      key: [...selected.map(({ index }) => index), ...proxy].join(),
    }
  }

  #near(workload: Workload): readonly { readonly document: PolicyDocument; readonly index: number }[] {
    const near = namespacesOf(workload, this.#mesh.names.rootNamespace)
    return [...near].flatMap(one => this.#byNamespace.get(one) ?? [])
  }
}

/** Whether the document has an effect on the workload that a proxy enforces. */
export function concerns(document: PolicyDocument, workload: Workload, mesh: MeshConfig): boolean {
  switch (document.kind) {
    case "AuthorizationPolicy":
    case "RequestAuthentication":
      return applies(document, workload, mesh)
    case "PeerAuthentication":
      return peerScope(document, workload, mesh) !== undefined
    default:
      return false
  }
}
