// SPDX-License-Identifier: Apache-2.0
//
// Which tokens are trusted: those that this cluster signed, for the right audience, until they expire and while the
// object they are bound to exists.

import { createPublicKey, generateKeyPairSync } from "node:crypto"
import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify, SignJWT } from "jose"
import { beforeEach, describe, expect, it } from "vitest"
import { catalog, stored } from "../testing/stored.js"
import type { JsonObject } from "../value.js"
import type { Credentials } from "./pki.js"
import { ISSUER, type TokenClaims, Tokens } from "./tokens.js"

const ec = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
const key = ec()
const unknownKey = ec()
// Only the fields that sign tokens are used.
const credentials = { tokenKey: key, tokenKeyId: "k1" } as Credentials
const START = Date.parse("2026-01-01T00:00:00Z")

const account: JsonObject = {
  ...{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a", namespace: "shop", uid: "account-1" } },
}
const pod = (uid: string, more: JsonObject = {}): JsonObject => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "shop", uid, ...more } },
})
const claims: TokenClaims = {
  ...{ namespace: "shop", account: "a", accountUid: "account-1", audiences: [ISSUER], expirationSeconds: 600 },
}

function tokensAt(now: number, objects: readonly JsonObject[] = [account]): Tokens {
  return new Tokens(credentials, stored(objects), catalog, () => now)
}

async function resultOf(
  token: string,
  now = START,
  objects?: readonly JsonObject[],
  audience = ISSUER,
): Promise<string> {
  const result = await tokensAt(now, objects).check(token, [audience])
  return "error" in result ? result.error : result.user.name
}

const published = (tokens: Tokens) => createLocalJWKSet(tokens.publicJwks() as unknown as JSONWebKeySet)

const issue = async (more: Partial<TokenClaims> = {}): Promise<string> =>
  (await tokensAt(START).issue({ ...claims, ...more })).token

describe("a token", () => {
  it("names its account, with that account's groups", async () => {
    const result = await tokensAt(START).check(await issue(), [ISSUER, "other"])
    expect(result).toMatchObject({
      user: {
        ...{ name: "system:serviceaccount:shop:a", uid: "account-1" },
        groups: ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
      },
      audiences: [ISSUER],
    })
  })

  it("expires to the second", async () => {
    const token = await issue()
    expect(await resultOf(token, START + 599_000)).toBe("system:serviceaccount:shop:a")
    expect(await resultOf(token, START + 601_000)).toMatch("service account token has expired")
    expect(await resultOf(token, START + 3600_000)).toMatch("service account token has expired")
  })

  it("is valid if the issuing server's clock is slightly ahead, and not yet valid if it is far ahead", async () => {
    const token = await issue()
    expect(await resultOf(token, START - 30_000)).toBe("system:serviceaccount:shop:a")
    expect(await resultOf(token, START - 120_000)).toMatch("service account token is not valid yet")
  })

  it("is valid for its audience only", async () => {
    expect(await resultOf(await issue({ audiences: ["mesh"] }))).toMatch("is invalid for the target audiences")
    expect(await resultOf(await issue({ audiences: ["mesh"] }), START, undefined, "mesh")).toMatch("shop:a")
  })

  it.each<[string, JsonObject[], RegExp]>([
    ["without an account", [], /serviceaccounts "a" not found/],
    [
      "of an account that was recreated",
      [{ ...account, metadata: { ...(account.metadata as JsonObject), uid: "2" } }],
      /invalidated/,
    ],
  ])("%s is invalid", async (_, objects, want) => {
    expect(await resultOf(await issue(), START, objects)).toMatch(want)
  })

  it.each<[string, JsonObject[], RegExp]>([
    ["running", [account, pod("pod-1")], /^system:serviceaccount/],
    ["deleted", [account], /invalidated/],
    ["replaced by another of the same name", [account, pod("pod-2")], /invalidated/],
    ["terminating", [account, pod("pod-1", { deletionTimestamp: "2025-12-31T23:59:30Z" })], /^system:serviceaccount/],
    ["terminating for too long", [account, pod("pod-1", { deletionTimestamp: "2025-12-31T23:00:00Z" })], /invalidated/],
  ])("of a Pod that is %s", async (_, objects, want) => {
    expect(await resultOf(await issue({ bound: { kind: "pod", name: "p", uid: "pod-1" } }), START, objects)).toMatch(
      want,
    )
  })
})

describe("a token that was verified before", () => {
  let now: number
  let tokens: Tokens
  let objects: JsonObject[]
  const asked = async (token: string, audience = ISSUER): Promise<string> => {
    const result = await tokens.check(token, [audience])
    return "error" in result ? result.error : result.user.name
  }

  beforeEach(() => {
    now = START
    objects = [account]
    tokens = new Tokens(credentials, { get: key => stored(objects).get(key) }, catalog, () => now)
  })

  it.each<[string, () => void, RegExp]>([
    ["is still valid", () => {}, /^system:serviceaccount:shop:a$/],
    ["still expires", () => (now += 601_000), /has expired/],
    ["is not yet valid after the clock was set back", () => (now -= 120_000), /not valid yet/],
    ["is invalid once its account is deleted", () => (objects = []), /not found/],
  ])("%s", async (_, change, want) => {
    const { token } = await tokens.issue(claims)
    expect(await asked(token)).toBe("system:serviceaccount:shop:a")
    change()
    expect(await asked(token)).toMatch(want)
  })

  it("does not validate a token with the same claims, or another audience", async () => {
    const { token } = await tokens.issue(claims)
    expect(await asked(token)).toBe("system:serviceaccount:shop:a")
    const [head, body, signature = ""] = token.split(".")
    const other = signature.startsWith("A") ? "B" : "A"
    expect(await asked(`${head}.${body}.${other}${signature.slice(1)}`)).toBe("invalid bearer token")
    expect(await asked(token, "mesh")).toMatch(/is invalid for the target audiences/)
  })
})

describe("an invalid token", () => {
  const seconds = START / 1000
  const payload: JWTPayload = {
    ...{
      aud: [ISSUER],
      exp: seconds + 600,
      iat: seconds,
      nbf: seconds,
      iss: ISSUER,
      sub: "system:serviceaccount:shop:a",
    },
    "kubernetes.io": { namespace: "shop", serviceaccount: { name: "a", uid: "account-1" } },
  }
  const { exp: _, ...endless } = payload
  const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")
  const signed = (header: object, own: JWTPayload = payload, by = key): Promise<string> =>
    new SignJWT(own).setProtectedHeader({ alg: "ES256", ...header }).sign(by)

  it("a valid token passes, so that the cases below prove something", async () => {
    expect(await resultOf(await signed({ kid: "k1" }))).toBe("system:serviceaccount:shop:a")
  })

  it.each<[string, () => Promise<string> | string]>([
    ["signed with an unknown key under the name of our key", () => signed({ kid: "k1" }, payload, unknownKey)],
    ["with another key id", () => signed({ kid: "k2" })],
    ["without a key id", () => signed({})],
    ["of another issuer", () => signed({ kid: "k1" }, { ...payload, iss: "https://elsewhere" })],
    ["without an expiry", () => signed({ kid: "k1" }, endless)],
    ["without a signature", () => `${base64({ alg: "none", kid: "k1" })}.${base64(payload)}.`],
    [
      "signed with our public key as a shared secret",
      () => {
        const secret = createPublicKey(key).export({ type: "spki", format: "pem" })
        return new SignJWT(payload).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(Buffer.from(secret))
      },
    ],
    [
      "signed with another algorithm",
      () =>
        signed({ kid: "k1", alg: "RS256" }, payload, generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey),
    ],
    [
      "with an unknown critical header",
      async () => {
        const token = await signed({ kid: "k1" })
        return `${base64({ alg: "ES256", kid: "k1", crit: ["x"], x: 1 })}${token.slice(token.indexOf("."))}`
      },
    ],
    [
      "with a changed payload",
      async () => {
        const [head, , signature] = (await signed({ kid: "k1" })).split(".")
        return `${head}.${base64({ ...payload, aud: ["x"] })}.${signature}`
      },
    ],
    ["that is not a JWT", () => "a.b.c"],
    ["empty", () => ""],
    ["encrypted", () => "a.b.c.d.e"],
  ])("%s", async (_, make) => {
    expect(await resultOf(await make())).toBe("invalid bearer token")
  })
})

describe("an RSA key, as earlier servers generated", () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const tokens = new Tokens(
    { tokenKey: privateKey, tokenKeyId: "k2" } as Credentials,
    stored([account]),
    catalog,
    () => START,
  )

  it("signs valid tokens that clients can verify with the published keys", async () => {
    const { token } = await tokens.issue(claims)
    expect(await tokens.check(token, [ISSUER])).toMatchObject({ user: { name: "system:serviceaccount:shop:a" } })
    const { protectedHeader } = await jwtVerify(token, published(tokens), { currentDate: new Date(START) })
    expect(protectedHeader).toEqual({ alg: "RS256", kid: "k2" })
  })

  it.each([
    ["padding", "PS256"],
    ["hash", "RS512"],
  ])("does not accept another %s", async (_, alg) => {
    const [, body = ""] = (await tokens.issue(claims)).token.split(".")
    const own = JSON.parse(Buffer.from(body, "base64url").toString()) as JWTPayload
    const signed = await new SignJWT(own).setProtectedHeader({ alg, kid: "k2" }).sign(privateKey)
    expect(await tokens.check(signed, [ISSUER])).toEqual({ error: "invalid bearer token" })
  })
})

it("clients can verify a token with the published keys", async () => {
  const { protectedHeader } = await jwtVerify(await issue(), published(tokensAt(START)), {
    currentDate: new Date(START),
  })
  expect(protectedHeader).toEqual({ alg: "ES256", kid: "k1" })
})
