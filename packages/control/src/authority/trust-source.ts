// SPDX-License-Identifier: Apache-2.0
// Whom the mesh trusts now: the roots, who signs, who is revoked.

import type { TrustSpec } from "@merlon/xds"

export interface TrustSource {
  readonly current: TrustSpec
  onChange(listener: () => void): () => void
}
