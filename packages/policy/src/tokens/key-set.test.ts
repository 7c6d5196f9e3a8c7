// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { parseKeySet } from "./key-set.js"
import { selfSigned } from "./testing/certificate.js"
import { jwks, type Signer, signer } from "./testing/issuer.js"
import { keySet } from "./testing/stage.js"

const publicJwk = (key: KeyObject) => key.export({ format: "jwk" })
const rsaPair = (modulusLength: number, publicExponent = 65537) =>
  generateKeyPairSync("rsa", { modulusLength, publicExponent })

function reasonFor(key: unknown): string {
  const result = parseKeySet(JSON.stringify({ keys: [key] }))
  if (result.ok) return "usable"
  return result.error.skipped[0]?.reason ?? result.error.message
}

describe("a key set", () => {
  let rsa: Signer
  let p256: Signer
  let p521: Signer
  let ed: Signer
  beforeAll(async () => {
    rsa = await signer("RS256")
    p256 = await signer("ES256")
    p521 = await signer("ES512")
    ed = await signer("EdDSA")
  })

  it("accepts RSA, the three NIST curves and Ed25519", async () => {
    const { jwk: p384 } = await signer("ES384")
    const set = keySet(jwks(rsa.jwk, p256.jwk, p384, p521.jwk, ed.jwk))
    expect(set.keys.map(({ kty, curve }) => curve ?? kty)).toEqual(["RSA", "P-256", "P-384", "P-521", "OKP"])
    expect(set.skipped).toEqual([])
    expect(Object.isFrozen(set) && Object.isFrozen(set.keys)).toBe(true)
  })

  it("ignores `use`, `key_ops` and `x5c`, which issuers fill in carelessly", () => {
    expect(reasonFor({ ...rsa.jwk, use: "enc", key_ops: ["wrapKey"], x5c: ["!"] })).toBe("usable")
  })

  it("assumes P-256 if an EC key names no curve", () => {
    const { crv: _, ...jwk } = p256.jwk
    expect(reasonFor(jwk)).toBe("usable")
  })

  it("accepts RSA exponent 3", () => {
    expect(reasonFor(publicJwk(rsaPair(2048, 3).publicKey))).toBe("usable")
  })

  it("skips unusable keys and reports why, as long as one key is left", () => {
    const set = keySet(jwks({ kty: "oct", k: "c2VjcmV0" }, p256.jwk, { kty: "RSA" }))
    expect(set.keys).toHaveLength(1)
    expect(set.skipped.map(({ index }) => index)).toEqual([0, 2])
    expect(set.skipped[0]?.reason).toContain("symmetric keys")
  })

  it("rejects keys that are weak, foreign or malformed, with the reason", () => {
    const { x, y, ...rest } = p256.jwk
    const cases: readonly (readonly [unknown, string])[] = [
      [publicJwk(rsaPair(1024).publicKey), "the RSA modulus has 1024 bits, at least 2048 are needed"],
      [publicJwk(rsaPair(2048, 17).publicKey), "the RSA exponent is neither 3 nor 65537"],
      [{ ...rsa.jwk, n: "AQ==" }, "the RSA modulus `n` is not base64url"],
      [{ ...rsa.jwk, alg: "ES256" }, "`alg` `ES256` is not a signature of an RSA key"],
      [{ ...rsa.jwk, alg: "HS256" }, "`alg` `HS256` is not a signature of an RSA key"],
      [{ ...rsa.jwk, alg: "RSA-OAEP" }, "`alg` `RSA-OAEP` is not a signature of an RSA key"],
      [{ ...p256.jwk, alg: "ES384" }, "`alg` `ES384` is not a signature of a P-256 key"],
      [{ ...p256.jwk, alg: "RS256" }, "`alg` `RS256` is not a signature of a P-256 key"],
      [{ ...ed.jwk, alg: "ES256" }, "`alg` `ES256` is not a signature of an Ed25519 key"],
      [{ ...rest, x, y: x }, "not a point on P-256"],
      [{ ...rest, x: "AA", y }, "`x` and `y` must be base64url of 32 bytes each"],
      [{ ...p256.jwk, crv: "secp256k1" }, "curve `secp256k1` is not supported, use P-256, P-384 or P-521"],
      [{ ...p256.jwk, crv: "P-384" }, "`x` and `y` must be base64url of 48 bytes each"],
      [{ ...ed.jwk, crv: "X25519" }, "curve `X25519` is not supported, use Ed25519"],
      [{ ...ed.jwk, x: "AAAA" }, "`x` must be base64url of 32 bytes"],
      [{ kty: "oct", k: "c2VjcmV0", alg: "HS256" }, "symmetric keys (`oct`) are rejected"],
      [{ kty: "DSA" }, "key type `DSA` is not supported"],
      [{}, "`kty` is missing"],
      [{ ...p256.jwk, kid: 7 }, "`kid` is not a string"],
      [{ ...p256.jwk, alg: null }, "`alg` is not a string"],
      ["key", "not a JSON object"],
      [null, "not a JSON object"],
      [[], "not a JSON object"],
    ]
    for (const [key, reason] of cases) expect(reasonFor(key)).toContain(reason)
  })

  it.each([
    ["", "not-json"],
    ["[]", "not-json"],
    ["{}", "not-a-key-set"],
    ['{"keys":{}}', "not-a-key-set"],
    ['{"keys":[]}', "no-usable-key"],
    ['{"kty":"EC","crv":"P-256"}', "not-a-key-set"],
    [`{"keys":[],"x":"${"a".repeat(256 * 1024)}"}`, "too-large"],
    [`{"keys":[],"x":"${"é".repeat(200 * 1024)}"}`, "too-large"],
    [`{"keys":[${"{},".repeat(100)}{}]}`, "too-many-keys"],
  ])("rejects %.40s as %s", (text, code) => {
    const result = parseKeySet(text)
    expect(result.ok ? "accepted" : result.error.code).toBe(code)
  })

  it("keeps no private members and names the keys that had one", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const set = keySet(jwks(p256.jwk, privateKey.export({ format: "jwk" })))
    expect(set.exposed).toEqual([1])
    expect(set.keys.map(({ key }) => key.type)).toEqual(["public", "public"])
  })

  it("accepts an object of key ids and RSA certificates", () => {
    const rsaKeys = rsaPair(2048)
    const oddKeys = rsaPair(2048, 17)
    const threeKeys = rsaPair(2048, 3)
    const ecKeys = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const set = keySet(
      JSON.stringify({
        a: selfSigned(rsaKeys.publicKey, rsaKeys.privateKey),
        b: selfSigned(ecKeys.publicKey, ecKeys.privateKey),
        c: "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----",
        d: selfSigned(oddKeys.publicKey, oddKeys.privateKey),
        e: selfSigned(threeKeys.publicKey, threeKeys.privateKey),
      }),
    )
    expect(set.keys.map(({ kid, kty }) => [kid, kty])).toEqual([
      ["a", "RSA"],
      ["e", "RSA"],
    ])
    expect(set.skipped.map(({ reason }) => reason)).toEqual([
      "the certificate's key is not RSA",
      "not an X.509 certificate in PEM",
      "the RSA exponent is neither 3 nor 65537",
    ])
    expect(set.keys[0]?.key.equals(rsaKeys.publicKey)).toBe(true)
  })

  it("has a revision that depends only on its usable keys", () => {
    const revision = (...keys: object[]) => keySet(jwks(...keys)).revision
    const base = revision(rsa.jwk, p256.jwk)
    expect(revision(p256.jwk, { use: "sig", ...rsa.jwk }, { kty: "oct" })).toBe(base)
    expect(revision(rsa.jwk)).not.toBe(base)
    expect(revision(rsa.jwk, { ...p256.jwk, kid: "other" })).not.toBe(base)
    expect(revision(rsa.jwk, { ...p256.jwk, alg: "ES256" })).not.toBe(base)
    expect(revision(rsa.jwk, p521.jwk)).not.toBe(base)
  })

  it("never throws", () => {
    const key = fc.record(
      {
        kty: fc.constantFrom("RSA", "EC", "OKP", "oct"),
        crv: fc.oneof(fc.constantFrom("P-256", "P-521", "Ed25519"), fc.jsonValue()),
        ...Object.fromEntries(
          ["n", "e", "x", "y", "kid", "alg"].map(name => [name, fc.oneof(fc.base64String(), fc.jsonValue())]),
        ),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.json(), fc.record({ keys: fc.array(fc.oneof(key, fc.jsonValue())) })),
        input => {
          parseKeySet(typeof input === "string" ? input : JSON.stringify(input))
        },
      ),
    )
  })
})
