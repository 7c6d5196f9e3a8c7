// SPDX-License-Identifier: Apache-2.0
// What session tickets are sealed with, made of the key that signs: there is nothing further to keep, replicate or back up,
// it is gone when that key is replaced, and whoever could make it can sign certificates anyway.

import { createPrivateKey, hkdfSync } from "node:crypto"
import type { AuthorityKeys } from "@merlon/identity"

const BYTES = 32
/** Whatever else is ever made of the key has another name. */
const PURPOSE = "merlon control plane: secret of session tickets"

export function ticketSecret({ privateKey }: Pick<AuthorityKeys, "privateKey">): Buffer {
  const der = createPrivateKey(privateKey).export({ type: "pkcs8", format: "der" })
  return Buffer.from(hkdfSync("sha256", der, "", PURPOSE, BYTES))
}
