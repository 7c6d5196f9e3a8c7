// SPDX-License-Identifier: Apache-2.0
// Our papers and whom we trust, as one value: each change of either is another value with another id, and connections
// made under an older one are used for no new request.

import type { TrustSpec, WorkloadPapers } from "@merlon/xds"

export interface Material {
  /** Tells one state of papers and trust from another. */
  readonly id: number
  readonly papers: WorkloadPapers | undefined
  readonly trust: TrustSpec
}
