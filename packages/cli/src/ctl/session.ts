// SPDX-License-Identifier: Apache-2.0
// What a command needs once its cluster is known.

import type { Api } from "@merlon/control/kubernetes"
import type { MeshNames } from "@merlon/policy/mesh"
import type { Catalog } from "./catalog/catalog.js"

export interface Session {
  readonly api: Api
  readonly catalog: Catalog
  readonly names: MeshNames
  /** False where the cluster serves policies of no mesh. */
  readonly installed: boolean
  /** Where objects go that name no namespace. */
  readonly namespace: string
  /** What `-n` said, where it was given. */
  readonly askedNamespace: string | undefined
  /** Set where a question is about Istio's policies, as Istio decides. */
  readonly dialect?: "istio"
  /** For messages: which context of which file. */
  readonly origin: string
}
