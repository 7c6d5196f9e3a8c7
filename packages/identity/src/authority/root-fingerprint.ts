// SPDX-License-Identifier: Apache-2.0
// The fingerprint of the root of an authority's chain. Cached per keys, because finding it verifies a signature.

import { IdentityError } from "../errors.js"
import { signerOf } from "../trust/chain.js"
import type { AuthorityKeys } from "./authority-keys.js"

const known = new WeakMap<AuthorityKeys, string>()

/** SHA-256 of the root's DER, lower-case hex. */
export function rootFingerprint(keys: AuthorityKeys): string {
  const found = known.get(keys) ?? signerOf(keys.certificateChain, keys.root)
  if (found === undefined) throw new IdentityError("bad-material", "the chain does not lead to the root")
  known.set(keys, found)
  return found
}
