// SPDX-License-Identifier: Apache-2.0
// The version of the trust that is sent to proxies. It is derived only from the contents, so that every replica uses
// the same version and a proxy's acknowledgement means the same to all of them.

import { createHash } from "node:crypto"
import type { TrustSpec } from "./proxy-resource.js"

const LENGTH = 22

export function trustVersion({ bundle, signer, revokedIdentities, revokedSerials }: TrustSpec): string {
  // Revocations are sets: order and repetition have no meaning.
  const canonical = JSON.stringify([bundle, signer, distinct(revokedIdentities), distinct(revokedSerials)])
  return createHash("sha256").update(canonical).digest("base64url").slice(0, LENGTH)
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort()
}
