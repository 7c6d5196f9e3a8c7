// SPDX-License-Identifier: Apache-2.0
// Interfaces of the status controller to the rest of the control plane.

import type { SecurityKind } from "../policies/stored-policy.js"
import type { ProxyViews } from "../snapshot/proxy-views.js"
import type { ClientCount } from "./condition-inputs.js"

/** Which workloads a policy selects, and which resources each proxy was sent. */
export interface PolicyReach extends Pick<ProxyViews, "get"> {
  /** Keys of workloads, with or without a proxy. */
  selectedBy(kind: SecurityKind, namespace: string, name: string): ReadonlySet<string>
  /** Keys (`Kind/namespace/name`) of policies that select other workloads than before. */
  onSelectionChange(listener: (policies: ReadonlySet<string>) => void): () => void
}

/** Which clients request the hosts of MeshServices and have acknowledged them. */
export interface MeshServiceClients {
  count(namespace: string, name: string): ClientCount
  /** Called with keys (`namespace/name`) of MeshServices whose count changed. */
  onChange(listener: (meshServices: ReadonlySet<string>) => void): () => void
}
