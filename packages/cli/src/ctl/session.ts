// SPDX-License-Identifier: Apache-2.0
// The context of a command after its cluster is known.

import type { Api } from "@merlon/control/kubernetes"
import type { MeshNames } from "@merlon/policy/mesh"
import type { Catalog } from "./catalog/catalog.js"

export interface Session {
  readonly api: Api
  readonly catalog: Catalog
  readonly names: MeshNames
  /** False if the cluster serves no policies of any mesh. */
  readonly installed: boolean
  /** The namespace of objects that name none. */
  readonly namespace: string
  /** The value of `-n`, if given. */
  readonly askedNamespace: string | undefined
  /** Set if a question is about Istio's policies, with Istio's semantics. */
  readonly dialect?: "istio"
  /** The context and the file of the kubeconfig, for messages. */
  readonly origin: string
}
