// SPDX-License-Identifier: Apache-2.0
// Our credentials and trusted roots as one value: each change is a new value with a new id, and connections of an older
// one take no new requests.

import type { TrustSpec } from "@merlon/xds"
import type { WorkloadCredentials } from "@merlon/xds/client"

export interface Material {
  /** Identifies one state of credentials and trust. */
  readonly id: number
  readonly credentials: WorkloadCredentials | undefined
  readonly trust: TrustSpec
}
