// SPDX-License-Identifier: Apache-2.0
// The current trust of the mesh: roots, signing keys, revocations.

import type { TrustSpec } from "@merlon/xds"

export interface TrustSource {
  readonly current: TrustSpec
  onChange(listener: () => void): () => void
}
