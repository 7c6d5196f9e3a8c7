// SPDX-License-Identifier: Apache-2.0
// An inline key set must have a usable key. `parseKeySet` decides what is usable, so that admission and verification
// cannot disagree.

import { parseKeySet } from "../../tokens/key-set.js"
import { shown } from "../document-error.js"
import { type Field, isObject } from "../field.js"

const EXAMPLE = '`{"keys":[{"kty":"RSA","n":"...","e":"AQAB"}]}`'

/** RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1: members that only private or shared keys have. */
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

export function checkInlineKeys(field: Field, text: string): void {
  const set = parse(text)
  if (set === undefined) {
    field.error("bad-value", "jwks parse error: the text is not JSON", `write a key set such as ${EXAMPLE}`)
    return
  }
  if (!isObject(set) || !Array.isArray(set.keys)) {
    const bare = isObject(set) && "kty" in set
    field.error(
      "bad-value",
      bare
        ? "jwks parse error: this is a single key, not a key set"
        : "jwks parse error: a key set is an object with a list `keys`",
      bare ? 'wrap it: `{"keys":[<the key>]}`' : `write a key set such as ${EXAMPLE}`,
    )
    return
  }
  const keys: readonly unknown[] = set.keys
  const symmetric = keys.flatMap((key, index) => (isObject(key) && key.kty === "oct" ? [index] : []))
  for (const index of symmetric) {
    // Fail closed: a user who can read policies could read the secret and sign tokens with it.
    field.error(
      "not-supported",
      `jwks key at index ${index} is symmetric (\`oct\`), which is rejected`,
      "use the public key of an asymmetric pair (RSA, EC or Ed25519)",
    )
  }
  for (const [index, key] of keys.entries()) {
    if (symmetric.includes(index) || !isObject(key)) continue
    if (!PRIVATE_MEMBERS.some(member => Object.hasOwn(key, member))) continue
    field.warn(
      "private-key",
      `jwks key at index ${index} contains private key material; only public keys are used for verification`,
      "publish the public members only, and replace the key: this one is no longer secret",
    )
  }
  const result = parseKeySet(text)
  if (!result.ok) {
    if (symmetric.length > 0) return
    field.error("bad-value", `jwks parse error: ${shown(result.error.message)}`, `write a key set such as ${EXAMPLE}`)
    return
  }
  for (const { index, reason } of result.keySet.skipped) {
    if (symmetric.includes(index)) continue
    field.warn("unused-key", `jwks key at index ${index} cannot be used: ${shown(reason)}`, "mend or remove it")
  }
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}
