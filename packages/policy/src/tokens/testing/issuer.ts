// SPDX-License-Identifier: Apache-2.0
// An external issuer for tests: keys and signatures come from jose, not from the code under test. RSA keys are slow to
// generate, so there is one key pair per algorithm and test file, and one for all RSA algorithms. The clock is fixed at
// `NOW`.

import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from "jose"

export const NOW = 1_800_000_000
export const ISSUER = "https://issuer.example.com"
export const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const
export type AlgorithmName = (typeof ALGORITHMS)[number]

export interface Signer {
  readonly alg: string
  readonly kid: string
  /** The public key as an issuer publishes it. */
  readonly jwk: JWK
  /** Adds issuer, subject and an expiry in an hour to the claims; `undefined` removes one. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
  /** Signs any bytes as payload. */
  signBytes(payload: Uint8Array, header?: Record<string, unknown>): Promise<string>
}

const signers = new Map<string, Promise<Signer>>()

const rsaPairs = new Map<string, Pair<KeyObject>>()

interface Pair<Key> {
  readonly publicKey: Key
  readonly privateKey: Key
}

/** The same pair for the same algorithm and kid. */
export function signer(alg: AlgorithmName = "ES256", kid = "k1"): Promise<Signer> {
  const known = signers.get(`${alg} ${kid}`)
  if (known !== undefined) return known
  const made = /^[RP]S/.test(alg) ? signerWith(rsaPair(kid), alg, kid) : makeSigner(alg, kid)
  signers.set(`${alg} ${kid}`, made)
  return made
}

function rsaPair(kid: string): Pair<KeyObject> {
  const pair = rsaPairs.get(kid) ?? generateKeyPairSync("rsa", { modulusLength: 2048 })
  rsaPairs.set(kid, pair)
  return pair
}

/** A new pair on every call: a different key with the same name. */
export async function makeSigner(alg: AlgorithmName, kid: string): Promise<Signer> {
  return signerWith(await generateKeyPair(alg, { extractable: true }), alg, kid)
}

async function signerWith(
  { publicKey, privateKey }: Pair<KeyObject | CryptoKey>,
  alg: AlgorithmName,
  kid: string,
): Promise<Signer> {
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid }
  const signBytes = (payload: Uint8Array, header: Record<string, unknown> = {}) =>
    new CompactSign(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
  return {
    alg,
    kid,
    jwk,
    signBytes,
    sign: (claims = {}, header = {}) =>
      signBytes(Buffer.from(JSON.stringify({ iss: ISSUER, sub: "alice", exp: NOW + 3600, ...claims })), header),
  }
}

export function jwks(...keys: readonly object[]): string {
  return JSON.stringify({ keys })
}

export function encode(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")
}
