// SPDX-License-Identifier: Apache-2.0
// Which keys sign with which digest, and the identifier of the algorithm in a certificate.

import type { KeyObject } from "node:crypto"
import { null_, objectIdentifier, sequence } from "../der/write.js"

export interface SignatureAlgorithm {
  /** Undefined if the type of the key determines it. */
  readonly digest: "sha256" | "sha384" | "sha512" | undefined
  readonly keyType: "ec" | "rsa" | "ed25519"
  /** AlgorithmIdentifier, DER. */
  readonly identifier: Buffer
}

// RFC 5758 section 3.2: ECDSA has no parameters. RFC 4055 section 5: RSA has NULL. RFC 8410 section 3: Ed25519 has
// none.
const ecdsa = (digest: "sha256" | "sha384" | "sha512", oid: string): SignatureAlgorithm => ({
  digest,
  keyType: "ec",
  identifier: sequence(objectIdentifier(oid)),
})
const rsa = (digest: "sha256" | "sha384" | "sha512", oid: string): SignatureAlgorithm => ({
  digest,
  keyType: "rsa",
  identifier: sequence(objectIdentifier(oid), null_()),
})

const ECDSA_SHA256 = ecdsa("sha256", "1.2.840.10045.4.3.2")
const ECDSA_SHA384 = ecdsa("sha384", "1.2.840.10045.4.3.3")
const ECDSA_SHA512 = ecdsa("sha512", "1.2.840.10045.4.3.4")
const RSA_SHA256 = rsa("sha256", "1.2.840.113549.1.1.11")
const RSA_SHA384 = rsa("sha384", "1.2.840.113549.1.1.12")
const RSA_SHA512 = rsa("sha512", "1.2.840.113549.1.1.13")
const ED25519: SignatureAlgorithm = {
  digest: undefined,
  keyType: "ed25519",
  identifier: sequence(objectIdentifier("1.3.101.112")),
}

/** Accepted for signing requests. SHA-1 and weaker digests prove nothing. */
export const REQUEST_ALGORITHMS = [ECDSA_SHA256, ECDSA_SHA384, ECDSA_SHA512, RSA_SHA256, RSA_SHA384, RSA_SHA512]

/** The algorithm with which an authority signs with this key; undefined if it cannot. */
export function signingAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  if (asymmetricKeyType === "rsa") return RSA_SHA256
  if (asymmetricKeyType === "ed25519") return ED25519
  if (asymmetricKeyType !== "ec") return undefined
  const curve = asymmetricKeyDetails?.namedCurve
  if (curve === "prime256v1") return ECDSA_SHA256
  if (curve === "secp384r1") return ECDSA_SHA384
  return curve === "secp521r1" ? ECDSA_SHA512 : undefined
}
