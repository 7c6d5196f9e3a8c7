// SPDX-License-Identifier: Apache-2.0
// The signature algorithms of RFC 7518 section 3.1 and RFC 8037 section 3.1 that need no shared secret. Algorithms
// outside this table are not supported: `none` and the HMAC family have no row, so no key can ever be tried with them.

import { constants } from "node:crypto"

export type Curve = "P-256" | "P-384" | "P-521"

export type Algorithm =
  | { readonly name: string; readonly kty: "RSA"; readonly hash: string; readonly padding: number }
  | { readonly name: string; readonly kty: "EC"; readonly hash: string; readonly curve: Curve }
  | { readonly name: string; readonly kty: "OKP" }

const PKCS1 = constants.RSA_PKCS1_PADDING
const PSS = constants.RSA_PKCS1_PSS_PADDING

const ROWS = [
  { name: "RS256", kty: "RSA", hash: "sha256", padding: PKCS1 },
  { name: "RS384", kty: "RSA", hash: "sha384", padding: PKCS1 },
  { name: "RS512", kty: "RSA", hash: "sha512", padding: PKCS1 },
  { name: "PS256", kty: "RSA", hash: "sha256", padding: PSS },
  { name: "PS384", kty: "RSA", hash: "sha384", padding: PSS },
  { name: "PS512", kty: "RSA", hash: "sha512", padding: PSS },
  // RFC 7518 section 3.4: each hash belongs to one curve, and the signature is r followed by s.
  { name: "ES256", kty: "EC", hash: "sha256", curve: "P-256" },
  { name: "ES384", kty: "EC", hash: "sha384", curve: "P-384" },
  { name: "ES512", kty: "EC", hash: "sha512", curve: "P-521" },
  { name: "EdDSA", kty: "OKP" },
] as const satisfies readonly Algorithm[]

export type TokenAlgorithm = (typeof ROWS)[number]["name"]
export const TOKEN_ALGORITHMS: readonly TokenAlgorithm[] = ROWS.map(({ name }) => name)

const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>(ROWS.map(row => [row.name, row]))

/** Names are case-sensitive (RFC 7515 section 4.1.1). */
export function findAlgorithm(name: string): Algorithm | undefined {
  return ALGORITHMS.get(name)
}
