// SPDX-License-Identifier: Apache-2.0
// Checks whether any key of a set signed the token. The key decides which algorithms are possible, never the token
// alone: a key is tried only with an algorithm of its own type and curve, so a public key is never used as a shared
// secret and an RSA header is never tried with an elliptic curve (RFC 8725 section 3.1).

import { constants, verify } from "node:crypto"
import type { Algorithm } from "./algorithms.js"
import type { KeySet } from "./key-set.js"
import type { PublicKey } from "./public-key.js"
import type { TokenError } from "./token-errors.js"

export type SignatureError = Extract<
  TokenError,
  "JwksKidAlgMismatch" | "JwtVerificationFail" | "JwtEd25519SignatureWrongLength"
>

export interface Signed {
  readonly algorithm: Algorithm
  /** Empty if the header has none. */
  readonly kid: string
  /** Header and payload as sent, with the dot between them (RFC 7515 section 5.2 step 8). */
  readonly signingInput: string
  /** Canonical base64url; decoded only when needed, because a token is kept in memory much longer. */
  readonly signature: string
}

/** Undefined if a key of the set made the signature. */
export function checkSignature(signed: Signed, keySet: KeySet): SignatureError | undefined {
  let input: Buffer | undefined
  let signature: Buffer | undefined
  for (const key of keySet.keys) {
    if (!fits(key, signed)) continue
    signature ??= Buffer.from(signed.signature, "base64url")
    const { length } = signature
    if (key.kty === "OKP" && length !== key.signatureBytes) return "JwtEd25519SignatureWrongLength"
    input ??= Buffer.from(signed.signingInput, "latin1")
    // RFC 8017 section 8.1.2: OpenSSL also accepts PSS signatures without their leading zeros.
    if (length === key.signatureBytes && isSignedBy(key, signed.algorithm, input, signature)) return undefined
  }
  // `input` exists only if some key was tried.
  return input === undefined ? "JwksKidAlgMismatch" : "JwtVerificationFail"
}

/** Whether the token names a key that the set lacks: the issuer may have rotated its keys since the set was fetched. */
export function isUnknownKid(kid: string, keySet: KeySet): boolean {
  return kid !== "" && !keySet.keys.some(key => key.kid === kid)
}

function fits(key: PublicKey, { algorithm, kid }: Signed): boolean {
  if (kid !== "" && key.kid !== "" && key.kid !== kid) return false
  if (key.alg !== "" && key.alg !== algorithm.name) return false
  if (key.kty !== algorithm.kty) return false
  return algorithm.kty !== "EC" || algorithm.curve === key.curve
}

function isSignedBy(key: PublicKey, algorithm: Algorithm, input: Buffer, signature: Uint8Array): boolean {
  try {
    switch (algorithm.kty) {
      case "RSA": {
        const { hash, padding } = algorithm
        if (padding === constants.RSA_PKCS1_PADDING) return verify(hash, input, { key: key.key, padding }, signature)
        // RFC 7518 section 3.5: the salt is as long as the hash.
        const saltLength = constants.RSA_PSS_SALTLEN_DIGEST
        return verify(hash, input, { key: key.key, padding, saltLength }, signature)
      }
      case "EC":
        return verify(algorithm.hash, input, { key: key.key, dsaEncoding: "ieee-p1363" }, signature)
      case "OKP":
        return verify(null, input, key.key, signature)
      default:
        return algorithm satisfies never
    }
  } catch {
    // Fail closed: OpenSSL throws for some malformed signatures instead of returning false.
    return false
  }
}
