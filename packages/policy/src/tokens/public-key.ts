// SPDX-License-Identifier: Apache-2.0
// Parses one verification key from a JWK (RFC 7517, RFC 7518 section 6, RFC 8037 section 2) or an X.509 certificate. Only
// public members are read, so private material never stays in memory. A key is usable or there is a reason; `use`,
// `key_ops` and `x5c` are ignored on purpose, because many issuers set them carelessly.

import { createPublicKey, type JsonWebKey, type KeyObject, X509Certificate } from "node:crypto"
import type { Claim } from "../request/attributes.js"
import { type Curve, findAlgorithm } from "./algorithms.js"
import { decodeBase64url } from "./base64url.js"
import type { JsonObject } from "./json-object.js"

export interface PublicKey {
  /** Empty if the key has none: it is then tried for any token. */
  readonly kid: string
  /** Empty if the key has none: it is then used with every algorithm of its type and curve. */
  readonly alg: string
  readonly kty: "RSA" | "EC" | "OKP"
  readonly curve: Curve | undefined
  /** The length of its signatures. */
  readonly signatureBytes: number
  readonly key: KeyObject
}

export interface UnusableKey {
  readonly reason: string
}

// NIST SP 800-131A: an RSA signature below 2048 bits is not secure. Above 8192 bits, every check costs milliseconds.
const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192
const RSA_EXPONENTS: ReadonlySet<string> = new Set(["Aw", "AQAB"]) // 3 and 65537
const CURVES: ReadonlyMap<string, { readonly curve: Curve; readonly bytes: number }> = new Map([
  ["P-256", { curve: "P-256", bytes: 32 }],
  ["P-384", { curve: "P-384", bytes: 48 }],
  ["P-521", { curve: "P-521", bytes: 66 }],
])
const ED25519_BYTES = 32

export function readJwk(jwk: JsonObject): PublicKey | UnusableKey {
  const { kty, kid = "", alg = "" } = jwk
  if (typeof kid !== "string") return { reason: "`kid` is not a string" }
  if (typeof alg !== "string") return { reason: "`alg` is not a string" }
  switch (kty) {
    case "RSA":
      return readRsa(jwk, kid, alg)
    case "EC":
      return readEc(jwk, kid, alg)
    case "OKP":
      return readOkp(jwk, kid, alg)
    case "oct":
      // Fail closed: everyone who has a shared secret can also sign with it.
      return { reason: "symmetric keys (`oct`) are rejected, publish the public key of an asymmetric pair" }
    default:
      return { reason: typeof kty === "string" ? `key type \`${kty}\` is not supported` : "`kty` is missing" }
  }
}

/** A certificate only supplies a key: its dates and its issuer are ignored. */
export function readCertificate(kid: string, pem: string): PublicKey | UnusableKey {
  let key: KeyObject
  try {
    key = new X509Certificate(pem).publicKey
  } catch {
    return { reason: "not an X.509 certificate in PEM" }
  }
  if (key.asymmetricKeyType !== "rsa") return { reason: "the certificate's key is not RSA" }
  const exponent = key.asymmetricKeyDetails?.publicExponent
  if (exponent !== 3n && exponent !== 65537n) return { reason: "the RSA exponent is neither 3 nor 65537" }
  return rsaOfSafeSize(key, kid, "")
}

function readRsa({ n, e }: JsonObject, kid: string, alg: string): PublicKey | UnusableKey {
  if (alg !== "" && findAlgorithm(alg)?.kty !== "RSA") return wrongAlgorithm(alg, "an RSA key")
  if (typeof e !== "string" || !RSA_EXPONENTS.has(e)) return { reason: "the RSA exponent is neither 3 nor 65537" }
  if (!isEncoded(n)) return { reason: "the RSA modulus `n` is not base64url" }
  const key = importJwk({ kty: "RSA", n, e })
  return key === undefined ? { reason: "not a valid RSA key" } : rsaOfSafeSize(key, kid, alg)
}

function rsaOfSafeSize(key: KeyObject, kid: string, alg: string): PublicKey | UnusableKey {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < MIN_RSA_BITS) return { reason: `the RSA modulus has ${bits} bits, at least ${MIN_RSA_BITS} are needed` }
  if (bits > MAX_RSA_BITS) return { reason: `the RSA modulus has ${bits} bits, at most ${MAX_RSA_BITS} are taken` }
  return { kid, alg, kty: "RSA", curve: undefined, signatureBytes: Math.ceil(bits / 8), key }
}

function readEc({ crv = "P-256", x, y }: JsonObject, kid: string, alg: string): PublicKey | UnusableKey {
  const known = typeof crv === "string" ? CURVES.get(crv) : undefined
  if (known === undefined) return { reason: `curve \`${printable(crv)}\` is not supported, use P-256, P-384 or P-521` }
  const { curve, bytes } = known
  if (alg !== "") {
    const algorithm = findAlgorithm(alg)
    if (algorithm?.kty !== "EC" || algorithm.curve !== curve) return wrongAlgorithm(alg, `a ${curve} key`)
  }
  // RFC 7518 section 6.2.1.2: coordinates have the full length of the curve.
  if (!isEncoded(x, bytes) || !isEncoded(y, bytes)) {
    return { reason: `\`x\` and \`y\` must be base64url of ${bytes} bytes each` }
  }
  // Node rejects a point that is not on the curve.
  const key = importJwk({ kty: "EC", crv: curve, x, y })
  if (key === undefined) return { reason: `not a point on ${curve}` }
  return { kid, alg, kty: "EC", curve, signatureBytes: 2 * bytes, key }
}

function readOkp({ crv, x }: JsonObject, kid: string, alg: string): PublicKey | UnusableKey {
  if (crv !== "Ed25519") return { reason: `curve \`${printable(crv)}\` is not supported, use Ed25519` }
  if (alg !== "" && findAlgorithm(alg)?.kty !== "OKP") return wrongAlgorithm(alg, "an Ed25519 key")
  if (!isEncoded(x, ED25519_BYTES)) return { reason: `\`x\` must be base64url of ${ED25519_BYTES} bytes` }
  const key = importJwk({ kty: "OKP", crv, x })
  if (key === undefined) return { reason: "not a valid Ed25519 key" }
  return { kid, alg, kty: "OKP", curve: undefined, signatureBytes: 2 * ED25519_BYTES, key }
}

function importJwk(key: JsonWebKey): KeyObject | undefined {
  try {
    return createPublicKey({ key, format: "jwk" })
  } catch {
    return undefined
  }
}

/** Whether the member is strict base64url of that many bytes, or of at least one byte. */
function isEncoded(value: Claim | undefined, bytes?: number): value is string {
  if (typeof value !== "string") return false
  const length = decodeBase64url(value)?.length ?? 0
  return bytes === undefined ? length > 0 : length === bytes
}

function wrongAlgorithm(alg: string, owner: string): UnusableKey {
  return { reason: `\`alg\` \`${printable(alg)}\` is not a signature of ${owner}` }
}

/** Reasons appear in logs and conditions, so untrusted text is shortened. */
function printable(value: Claim | undefined): string {
  return typeof value === "string" ? value.slice(0, 40) : String(typeof value)
}
