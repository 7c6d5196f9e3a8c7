// SPDX-License-Identifier: Apache-2.0
// What the mesh currently trusts: roots, signing keys, revocations.

import type { TrustSpec } from "@merlon/xds"

export interface TrustSource {
  readonly current: TrustSpec
  onChange(listener: () => void): () => void
}
