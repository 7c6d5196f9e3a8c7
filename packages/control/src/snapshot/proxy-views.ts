// SPDX-License-Identifier: Apache-2.0
// The configuration that each workload's proxy should enforce. A change creates new views of the affected workloads and
// leaves all others unchanged.

import type { VersionedResource } from "@merlon/xds/server"

/** One workload's resources. Replaced as a whole by each change that touches it. */
export interface ProxyView {
  /** The change that made this view; increases across all workloads. */
  readonly revision: number
  /** Resources by name on the wire. Views share the encoded bodies. */
  readonly resources: ReadonlyMap<string, VersionedResource>
}

export interface ProxyViews {
  /** View by workload key. Only workloads with a proxy have one. */
  get(workload: string): ProxyView | undefined
  /** Keys of the workloads whose view changed, once per burst. A removed workload has no view any more. */
  onChange(listener: (workloads: ReadonlySet<string>) => void): () => void
}
