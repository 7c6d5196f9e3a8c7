// SPDX-License-Identifier: Apache-2.0
// What each workload's proxy should enforce: a change creates new views of the affected workloads and leaves all others
// unchanged.

import type { VersionedResource } from "@merlon/xds/server"

/** One workload's resources. Replaced as a whole by each change that touches it. */
export interface ProxyView {
  /** The change that made it; grows over all workloads. */
  readonly revision: number
  /** By name on the wire. Bodies are shared by all views that hold them. */
  readonly resources: ReadonlyMap<string, VersionedResource>
}

export interface ProxyViews {
  /** By workload key. Only proxied workloads have one. */
  get(workload: string): ProxyView | undefined
  /** Keys of the workloads whose view changed, once per burst; a workload that went has no view any more. */
  onChange(listener: (workloads: ReadonlySet<string>) => void): () => void
}
