// SPDX-License-Identifier: Apache-2.0
// A signing key: generated, or read from a JWK (RFC 7517) or a PEM file. The private key is never printed.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject } from "node:crypto"
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from "@merlon/policy/tokens"
import { CommandError } from "../exit.js"

export interface SigningKey {
  readonly key: KeyObject
  readonly alg: TokenAlgorithm
  /** Undefined if the file contains none. */
  readonly kid: string | undefined
}

const RSA_BITS = 2048
const CURVES = { ES256: "P-256", ES384: "P-384", ES512: "P-521" } as const

export function makeKey(alg: TokenAlgorithm): KeyObject {
  if (alg === "EdDSA") return generateKeyPairSync("ed25519").privateKey
  if (alg === "ES256" || alg === "ES384" || alg === "ES512") {
    return generateKeyPairSync("ec", { namedCurve: CURVES[alg] }).privateKey
  }
  return generateKeyPairSync("rsa", { modulusLength: RSA_BITS }).privateKey
}

/** Reads a PEM file, a JWK, or a set with one private JWK. */
export function readKey(text: string, file: string): SigningKey {
  if (text.includes("-----BEGIN")) return fromPem(text, file)
  const jwk = jwkOf(text, file)
  try {
    const key = createPrivateKey({ key: jwk as JsonWebKey, format: "jwk" })
    const { alg, kid } = jwk
    return {
      key,
      alg: isAlgorithm(alg) ? alg : algorithmFor(key, file),
      kid: typeof kid === "string" ? kid : undefined,
    }
  } catch (error) {
    if (error instanceof CommandError) throw error
    // The error of the crypto library could contain a part of the key.
    throw new CommandError(
      "unusable-key",
      `\`${file}\` is no private JWK that can be used; \`merlonctl jwt keygen\` makes one`,
    )
  }
}

/** The public key as a member of a key set. It is built field by field, so that no private field can be included. */
export function publicJwk(key: KeyObject, kid: string, alg: TokenAlgorithm): { readonly [field: string]: string } {
  const { kty, n, e, crv, x, y } = createPublicKey(key).export({ format: "jwk" })
  const parts = { kty, crv, x, y, n, e, kid, alg, use: "sig" }
  return Object.fromEntries(
    Object.entries(parts).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

function fromPem(text: string, file: string): SigningKey {
  try {
    const key = createPrivateKey(text)
    return { key, alg: algorithmFor(key, file), kid: undefined }
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(
      "unusable-key",
      `\`${file}\` is no private key that can be read; an encrypted one must be decrypted first`,
    )
  }
}

function jwkOf(text: string, file: string): { readonly [field: string]: unknown } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new CommandError("unusable-key", `\`${file}\` is neither PEM nor JSON; \`merlonctl jwt keygen\` makes a key`)
  }
  const { keys } = Object(value) as { keys?: unknown } // checked on the next line
  const found = (Array.isArray(keys) ? keys : [value]).filter(jwk => typeof Object(jwk).d === "string")
  const [jwk, another] = found
  if (jwk === undefined)
    throw new CommandError("unusable-key", `\`${file}\` holds no private key; that of the key set cannot sign`)
  if (another !== undefined)
    throw new CommandError("unusable-key", `\`${file}\` holds several private keys; keep one in a file of its own`)
  return { ...jwk }
}

function algorithmFor(key: KeyObject, file: string): TokenAlgorithm {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === "rsa") return "RS256"
  if (type === "ed25519") return "EdDSA"
  if (type === "ec") {
    if (details?.namedCurve === "prime256v1") return "ES256"
    if (details?.namedCurve === "secp384r1") return "ES384"
    if (details?.namedCurve === "secp521r1") return "ES512"
  }
  throw new CommandError(
    "unusable-key",
    `\`${file}\` is a key of another kind (${type}); use RSA, P-256, P-384, P-521 or Ed25519`,
  )
}

function isAlgorithm(value: unknown): value is TokenAlgorithm {
  return TOKEN_ALGORITHMS.some(name => name === value)
}
