// SPDX-License-Identifier: Apache-2.0
// Our credentials and whom we trust, as one value: each change of either is another value with another id, and connections
// made under an older one are used for no new request.

import type { TrustSpec } from "@merlon/xds"
import type { WorkloadCredentials } from "@merlon/xds/client"

export interface Material {
  /** Tells one state of credentials and trust from another. */
  readonly id: number
  readonly credentials: WorkloadCredentials | undefined
  readonly trust: TrustSpec
}
