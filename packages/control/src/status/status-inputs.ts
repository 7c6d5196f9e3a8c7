// SPDX-License-Identifier: Apache-2.0
// What the status controller needs from the rest of the control plane.

import type { SecurityKind } from "../policies/stored-policy.js"
import type { ProxyViews } from "../snapshot/proxy-views.js"
import type { ClientCount } from "./condition-inputs.js"

/** Who is selected by what, and what each proxy was sent. */
export interface PolicyReach extends Pick<ProxyViews, "get"> {
  /** Keys of workloads, with a proxy and without. */
  selectedBy(kind: SecurityKind, namespace: string, name: string): ReadonlySet<string>
  /** Keys (`Kind/namespace/name`) of policies that select other workloads than before. */
  onSelectionChange(listener: (policies: ReadonlySet<string>) => void): () => void
}

/** Who asks for the hosts of MeshServices, and has acknowledged what they say. */
export interface MeshServiceClients {
  count(namespace: string, name: string): ClientCount
  /** Keys (`namespace/name`) of MeshServices for which the count is another now. */
  onChange(listener: (meshServices: ReadonlySet<string>) => void): () => void
}
