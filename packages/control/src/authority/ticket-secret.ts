// SPDX-License-Identifier: Apache-2.0
// The secret that encrypts TLS session tickets, derived from the signing key. So there is nothing more to store,
// replicate or back up, it changes when that key is replaced, and a party that could derive it could sign certificates
// anyway.

import { createPrivateKey, hkdfSync } from "node:crypto"
import type { AuthorityKeys } from "@merlon/identity"

const BYTES = 32
/** Other values that are derived from the key must use another label. */
const PURPOSE = "merlon control plane: secret of session tickets"

export function ticketSecret({ privateKey }: Pick<AuthorityKeys, "privateKey">): Buffer {
  const der = createPrivateKey(privateKey).export({ type: "pkcs8", format: "der" })
  return Buffer.from(hkdfSync("sha256", der, "", PURPOSE, BYTES))
}
