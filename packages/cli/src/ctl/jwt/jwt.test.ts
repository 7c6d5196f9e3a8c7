// SPDX-License-Identifier: Apache-2.0
import { createPublicKey, type KeyObject } from "node:crypto"
import { meshNames } from "@merlon/policy/mesh"
import { parseKeySet, TOKEN_ALGORITHMS, type TokenAlgorithm } from "@merlon/policy/tokens"
import { SignJWT } from "jose"
import { describe, expect, it } from "vitest"
import { type ClaimFlags, claimsOf, timeOf } from "./claims.js"
import { distance, formatInspection } from "./format-inspection.js"
import { inspect } from "./inspection.js"
import { makeKey, publicJwk, readKey } from "./private-key.js"

const NOW = 1_800_000_000
const names = meshNames()
const flags = (over: Partial<ClaimFlags> = {}): ClaimFlags => ({ aud: [], exp: "1h", claim: [], ...over })

describe("claims", () => {
  it.each<[string, Partial<ClaimFlags>, object]>([
    ["nothing but times", {}, { iat: NOW, exp: NOW + 3600 }],
    ["no end", { exp: "never" }, { iat: NOW }],
    ["one audience as text", { aud: ["a"], exp: "never" }, { iat: NOW, aud: "a" }],
    ["several as a list", { aud: ["a", "b"], exp: "never" }, { iat: NOW, aud: ["a", "b"] }],
    [
      "what is JSON as such",
      { claim: ["g=[1]", "n=7", 's="7"', "t=a=b", "e="], exp: "never" },
      { iat: NOW, g: [1], n: 7, s: "7", t: "a=b", e: "" },
    ],
    [
      "a flag before a claim before claims",
      { iss: "f", claims: '{"iss":"c","sub":"c","x":1}', claim: ["iss=p", "sub=p"], exp: "never" },
      { iat: NOW, iss: "f", sub: "p", x: 1 },
    ],
    ["a beginning", { nbf: "5m", exp: "never" }, { iat: NOW, nbf: NOW + 300 }],
  ])("have %s", (_, over, expected) => {
    expect(claimsOf(flags(over), NOW)).toEqual(expected)
  })

  it.each<[string, Partial<ClaimFlags>, RegExp]>([
    ["a claim without a name", { claim: ["=x"] }, /NAME=VALUE/],
    ["claims that are no object", { claims: "[1]" }, /JSON object/],
    ["a time that is none", { exp: "soon" }, /`soon` is no time/],
  ])("reject %s", (_, over, message) => {
    expect(() => claimsOf(flags(over), NOW)).toThrow(message)
  })

  it.each([
    ["1h", NOW + 3600],
    ["-1m30s", NOW - 90],
    ["2030-01-01T00:00:00Z", 1_893_456_000],
    ["1893456000", 1_893_456_000],
  ])("count `%s`", (text, expected) => {
    expect(timeOf(text, NOW, "--exp")).toBe(expected)
  })
})

/**
 * An unrelated key of the type that the algorithm needs. RSA keys are slow to generate, so one serves all six RSA
 * algorithms.
 */
const strangers = new Map<string, KeyObject>()
function stranger(alg: TokenAlgorithm): KeyObject {
  const kind = /^[RP]S/.test(alg) ? "RSA" : alg
  const key = strangers.get(kind) ?? makeKey(alg)
  strangers.set(kind, key)
  return key
}

describe.each(TOKEN_ALGORITHMS)("a key for %s", alg => {
  it("survives both of its files, and its tokens are accepted", async () => {
    const made = makeKey(alg)
    const jwk = JSON.stringify({ ...made.export({ format: "jwk" }), kid: "k", alg })
    const read = readKey(jwk, "f")
    expect(read).toMatchObject({ alg, kid: "k" })
    const fromPem = readKey(made.export({ format: "pem", type: "pkcs8" }).toString(), "f")
    expect(createPublicKey(fromPem.key).equals(createPublicKey(made))).toBe(true)
    const result = parseKeySet(JSON.stringify({ keys: [publicJwk(made, "k", alg)] }))
    if (!result.ok) return expect.fail(result.error.message)
    expect(result.keySet.exposed).toEqual([])
    const token = await new SignJWT({ iss: "me", sub: "s" }).setProtectedHeader({ alg, kid: "k" }).sign(read.key)
    expect(inspect(token, { keySet: result.keySet, audiences: [] }, names, NOW).outcome).toEqual({ verdict: "valid" })
    const other = parseKeySet(JSON.stringify({ keys: [publicJwk(stranger(alg), "k", alg)] }))
    expect(
      inspect(token, { keySet: other.ok ? other.keySet : undefined, audiences: [] }, names, NOW).outcome,
    ).toMatchObject({
      verdict: "rejected",
    })
  })
})

describe("rejects a key without printing it,", () => {
  const rsa = stranger("RS256").export({ format: "jwk" })
  it.each([
    ["as text", "secret-text", /neither PEM nor JSON/],
    ["as a public key", JSON.stringify({ keys: [publicJwk(makeKey("ES256"), "k", "ES256")] }), /holds no private key/],
    ["as one of several", JSON.stringify({ keys: [rsa, rsa] }), /several private keys/],
    ["as a broken JWK", JSON.stringify({ kty: "EC", crv: "P-256", d: "secret", x: "", y: "" }), /no private JWK/],
    [
      "as a broken PEM",
      "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----",
      /no private key that can be read/,
    ],
  ])("%s", (_, text, message) => {
    expect(() => readKey(text, "f")).toThrow(message)
    expect(() => readKey(text, "f")).not.toThrow(/secret/)
  })
})

describe("a token", () => {
  const key = makeKey("ES256")
  const set = parseKeySet(JSON.stringify({ keys: [publicJwk(key, "k", "ES256")] }))
  const keySet = set.ok ? set.keySet : undefined
  const sign = (claims: object) => new SignJWT({ ...claims }).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(key)

  it.each<[string, object, object, object]>([
    ["is valid", { iss: "me" }, {}, { verdict: "valid" }],
    ["is valid without an issuer", { sub: "a" }, {}, { verdict: "valid" }],
    ["is not checked without keys", { iss: "me" }, { keySet: undefined }, { verdict: "unchecked" }],
    ["is expired", { iss: "me", exp: NOW - 3600 }, {}, { error: "JwtExpired", status: 401 }],
    ["is of another issuer", { iss: "me" }, { issuer: "you" }, { error: "JwtUnknownIssuer" }],
    [
      "is for another audience",
      { iss: "me", aud: "a" },
      { audiences: ["b"] },
      { error: "JwtAudienceNotAllowed", status: 403 },
    ],
  ])("%s", async (_, claims, expected, outcome) => {
    expect(inspect(await sign(claims), { keySet, audiences: [], ...expected }, names, NOW).outcome).toMatchObject(
      outcome,
    )
  })

  it.each(["", "a", "a.b.c", "..", "💥.💥.💥", "e30.e30."])("that is none is rejected: `%s`", token => {
    expect(inspect(token, { keySet, audiences: [] }, names, NOW).outcome.verdict).toBe("rejected")
  })

  it("is shown with dates and without terminal control characters", async () => {
    const token = await sign({ iss: "me\u001b[2J", exp: NOW + 5400, iat: NOW - 3, aud: ["a"] })
    const text = formatInspection(inspect(token, { keySet, audiences: [] }, names, NOW), NOW)
    expect(text).toContain("exp  1800005400  2027-01-15T09:30:00Z, in 1h30m")
    expect(text).toContain("iat  1799999997  2027-01-15T07:59:57Z, 3s ago")
    expect(text).not.toContain("\u001b[2J")
    expect(text).toMatch(/verdict\n {2}valid\n$/)
  })
})

it.each([
  [0, "now"],
  [59, "in 59s"],
  [-3_600, "1h ago"],
  [90_061, "in 1d1h"],
])("%i seconds away is %s", (seconds, expected) => {
  expect(distance(seconds)).toBe(expected)
})
