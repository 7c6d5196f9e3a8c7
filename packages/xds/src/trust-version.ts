// SPDX-License-Identifier: Apache-2.0
// The version of the trust that is sent to proxies. It is derived from the contents alone, so that every replica uses the
// same version and a proxy's acknowledgement means the same to all of them.

import { createHash } from "node:crypto"
import type { TrustSpec } from "./proxy-resource.js"

const LENGTH = 22

export function trustVersion({ bundle, signer, revokedIdentities, revokedSerials }: TrustSpec): string {
  // Revocations are sets: their order and repetition carry nothing.
  const canonical = JSON.stringify([bundle, signer, distinct(revokedIdentities), distinct(revokedSerials)])
  return createHash("sha256").update(canonical).digest("base64url").slice(0, LENGTH)
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort()
}
