// SPDX-License-Identifier: Apache-2.0
//
// Which ID tokens are trusted, and which user each names: on a real API server, with an issuer over real TLS.

import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { JWTPayload } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Cluster, startCluster } from "../cluster.js"
import { HttpsIssuer, type SigningKey, signingKey } from "../testing/https-issuer.js"
import { asObject, asString, dig, type Json, type JsonObject } from "../value.js"
import { ASK_AGAIN_MS, KEEP_MS } from "./issuer-keys.js"
import { OidcTokens } from "./oidc.js"
import { clusterOidcOptions } from "./oidc-flags.js"
import { type Credentials, loadCredentials } from "./pki.js"
import { ISSUER } from "./tokens.js"

const folder = mkdtempSync(join(tmpdir(), "oidc-"))
const first = signingKey("first")
const second = signingKey("second")
/** The issuer does not publish this key. */
const unknownKey = signingKey("other")
let credentials: Credentials
let issuer: HttpsIssuer
let cluster: Cluster
let data = join(folder, "cluster")
/** How far the API server's clock is ahead of the test's. */
let ahead = 0
const logged: string[] = []

beforeAll(async () => {
  credentials = await loadCredentials(join(folder, "issuer-pki"), [], Date.now())
  writeFileSync(join(folder, "ca.pem"), credentials.caCertificate)
  issuer = new HttpsIssuer(credentials)
  await issuer.start()
  const oidc = clusterOidcOptions({
    ...{ "oidc-issuer-url": issuer.url, "oidc-client-id": "merlon", "oidc-ca-file": join(folder, "ca.pem") },
    ...{ "oidc-groups-claim": "groups", "oidc-groups-prefix": "oidc:", "oidc-required-claim": ["tenant=one"] },
  })
  if (oidc === undefined) throw new Error("there is an issuer")
  const clock = (): number => Date.now() + ahead
  const log = (error: unknown): void => void logged.push(String(error))
  cluster = await startCluster({ dataDir: data, port: 0, clock, oidc, log })
})

afterAll(async () => {
  await cluster.close()
  await issuer.stop()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(() => {
  issuer.keys = [first]
  issuer.document = {}
  // Advance the clock so that cached keys have expired.
  ahead += KEEP_MS
})

const claims = (more: JWTPayload = {}): JWTPayload => {
  const now = Math.floor((Date.now() + ahead) / 1_000)
  return { iss: issuer.url, aud: "merlon", sub: "jane", tenant: "one", iat: now, exp: now + 600, ...more }
}

interface Answer {
  readonly status: number
  readonly body: JsonObject
}

interface Asking {
  readonly token?: string
  readonly asAdmin?: boolean
}

async function adminsPair(): Promise<object> {
  const { adminCertificate, adminKey } = await loadCredentials(join(data, "pki"), [], Date.now() + ahead)
  return { cert: adminCertificate, key: adminKey }
}

async function post(path: string, body: JsonObject, { token, asAdmin = false }: Asking): Promise<Answer> {
  const admin = asAdmin ? await adminsPair() : {}
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) }
  const options = { method: "POST", ca: cluster.caCertificate, headers, agent: false, ...admin }
  return new Promise((resolve, reject) => {
    request(`${cluster.url}${path}`, options, answer => {
      let text = ""
      answer.on("data", chunk => {
        text += chunk
      })
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }))
    })
      .on("error", reject)
      .end(JSON.stringify(body))
  })
}

/** The user as the API server authenticates it, or the status and message of the rejection. */
async function who(token: string): Promise<Json> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }
  const { status, body } = await post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review, { token })
  return status === 201 ? (dig(body, "status", "userInfo") ?? {}) : `${status} ${asString(body.message)}`
}

async function reviewed(token: string, audiences?: string[]): Promise<JsonObject> {
  const spec = { token, ...(audiences && { audiences }) }
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec }
  const { body } = await post("/apis/authentication.k8s.io/v1/tokenreviews", review, { asAdmin: true })
  return asObject(body.status)
}

const base64 = (value: object | string): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")

describe("an ID token", () => {
  it("names a user with the issuer as prefix, and the groups", async () => {
    const token = await issuer.sign(claims({ groups: ["writers", "readers"], jti: "7" }))
    expect(await who(token)).toEqual({
      username: `${issuer.url}#jane`,
      groups: ["oidc:writers", "oidc:readers", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": ["JTI=7"] },
    })
  })

  it("may name one group without a list, or none", async () => {
    expect(await who(await issuer.sign(claims({ groups: "writers" })))).toMatchObject({
      groups: ["oidc:writers", "system:authenticated"],
    })
    expect(await who(await issuer.sign(claims()))).toMatchObject({ groups: ["system:authenticated"] })
  })

  it("may be for several audiences, of which one is ours", async () => {
    const token = await issuer.sign(claims({ aud: ["other", "merlon"] }))
    expect(await who(token)).toMatchObject({ username: `${issuer.url}#jane` })
  })

  it("is authenticated in a TokenReview for this API and for no other audience", async () => {
    const token = await issuer.sign(claims())
    expect(await reviewed(token)).toMatchObject({ authenticated: true, audiences: [ISSUER] })
    const elsewhere = await reviewed(token, ["mesh"])
    expect(elsewhere.authenticated).toBeUndefined()
    expect(elsewhere.error).toMatch("the token is for this API, not for mesh")
  })
})

describe("authenticates no user", () => {
  const publicPem = (): string => String(first.publicKey.export({ type: "spki", format: "pem" }))
  it.each<[string, () => Promise<string> | string]>([
    ["a token without a signature", () => `${base64({ alg: "none", kid: "first" })}.${base64(claims())}.`],
    [
      "a token signed with the issuer's public key as a shared secret",
      () => {
        const text = `${base64({ alg: "HS256", kid: "first" })}.${base64(claims())}`
        return `${text}.${createHmac("sha256", publicPem()).update(text).digest("base64url")}`
      },
    ],
    [
      "a token signed with an unknown key under the name of the issuer's key",
      () => issuer.sign(claims(), { ...unknownKey, kid: "first" }),
    ],
    ["a token signed with an unknown key", () => issuer.sign(claims(), unknownKey)],
    [
      "a token with a changed payload",
      async () => {
        const [head, , signature] = (await issuer.sign(claims())).split(".")
        return `${head}.${base64(claims({ sub: "admin" }))}.${signature}`
      },
    ],
    ["a token signed with an algorithm that is not configured", () => issuer.sign(claims(), issuer.keys[0], "PS256")],
    ["a token for another client", () => issuer.sign(claims({ aud: "other" }))],
    ["a token of another issuer", () => issuer.sign(claims({ iss: "https://elsewhere.example" }))],
    ["a token of an issuer that is spelled differently", () => issuer.sign(claims({ iss: `${issuer.url}/` }))],
    ["a token that has expired", () => issuer.sign(claims({ exp: Math.floor((Date.now() + ahead) / 1_000) - 1 }))],
    ["a token without an expiry", () => issuer.sign({ ...claims(), exp: undefined as never })],
    [
      "a token that is not valid yet",
      () => issuer.sign(claims({ nbf: Math.floor((Date.now() + ahead) / 1_000) + 400 })),
    ],
    ["a token without a name", () => issuer.sign(claims({ sub: "" }))],
    ["a token whose name is a list", () => issuer.sign(claims({ sub: ["jane"] as never }))],
    [
      "a token whose name has characters that deceive the reader",
      () => issuer.sign(claims({ sub: "jane\u202enimda" })),
    ],
    ["a token whose groups are not all names", () => issuer.sign(claims({ groups: ["a", 1] }))],
    ["a token without a required claim", () => issuer.sign(claims({ tenant: "two" }))],
  ])("%s", async (_, make) => {
    expect(await who(await issuer.sign(claims()))).toMatchObject({ username: `${issuer.url}#jane` })
    expect(await who(await make())).toBe("401 Unauthorized")
  })

  it("never maps a user to a name or group of the cluster", async () => {
    const token = await issuer.sign(claims({ sub: "admin", groups: ["system:masters"] }))
    expect(await who(token)).toMatchObject({ groups: ["oidc:system:masters", "system:authenticated"] })
    const { status } = await post("/api/v1/namespaces", { metadata: { name: "mine" } }, { token })
    expect(status).toBe(403)
  })
})

describe("the issuer's keys", () => {
  it("are fetched once for many tokens", async () => {
    await who(await issuer.sign(claims()))
    issuer.asked.length = 0
    for (let times = 0; times < 3; times++) await who(await issuer.sign(claims()))
    expect(issuer.asked).toEqual([])
  })

  it("may rotate: the new key is trusted at once, and the withdrawn key is not", async () => {
    const old = await issuer.sign(claims())
    expect(await who(old)).toMatchObject({ username: `${issuer.url}#jane` })
    issuer.keys = [second]
    ahead += ASK_AGAIN_MS
    expect(await who(await issuer.sign(claims(), second))).toMatchObject({ username: `${issuer.url}#jane` })
    expect(await who(old)).toBe("401 Unauthorized")
  })

  it("expire when withdrawn, even if no token uses another key", async () => {
    const old = await issuer.sign(claims({ exp: Math.floor((Date.now() + ahead + 2 * KEEP_MS) / 1_000) }))
    expect(await who(old)).toMatchObject({ username: `${issuer.url}#jane` })
    issuer.keys = [second]
    ahead += KEEP_MS
    expect(await who(old)).toBe("401 Unauthorized")
  })

  it("may have no key id if several fit", async () => {
    const nameless = (key: SigningKey): SigningKey => ({ ...key, kid: undefined })
    const other = nameless(second)
    issuer.keys = [nameless(first), other]
    expect(await who(await issuer.sign(claims(), other))).toMatchObject({ username: `${issuer.url}#jane` })
    expect(await who(await issuer.sign(claims(), nameless(unknownKey)))).toBe("401 Unauthorized")
  })

  it("are not fetched for every token with an unknown key", async () => {
    await who(await issuer.sign(claims()))
    ahead += ASK_AGAIN_MS
    issuer.asked.length = 0
    for (let times = 0; times < 3; times++)
      await who(await issuer.sign(claims(), { ...unknownKey, kid: `own-${times}` }))
    expect(issuer.asked).toEqual(["/.well-known/openid-configuration", "/keys"])
  })

  it("are kept while the issuer is unavailable, and other credentials still work", async () => {
    const token = await issuer.sign(claims({ exp: Math.floor((Date.now() + ahead + 2 * KEEP_MS) / 1_000) }))
    expect(await who(token)).toMatchObject({ username: `${issuer.url}#jane` })
    await issuer.stop()
    try {
      ahead += KEEP_MS
      expect(await who(token)).toMatchObject({ username: `${issuer.url}#jane` })
      expect(await reviewed(token)).toMatchObject({ authenticated: true })
    } finally {
      await issuer.start()
    }
  })
})

describe("an unreachable or invalid issuer", () => {
  const says = async (document: object): Promise<void> => {
    issuer.document = document
  }
  // Each case has its own cluster: one that had fetched the keys before would keep them.
  let other: Cluster

  async function started(): Promise<void> {
    const values = { "oidc-issuer-url": issuer.url, "oidc-client-id": "merlon", "oidc-ca-file": join(folder, "ca.pem") }
    const oidc = clusterOidcOptions(values)
    if (oidc === undefined) throw new Error("there is an issuer")
    const log = (error: unknown): void => void logged.push(String(error))
    other = cluster
    data = join(folder, "other")
    cluster = await startCluster({
      dataDir: data,
      port: 0,
      oidc,
      log,
      clock: () => Date.now() + ahead,
    })
  }

  it.each<[string, RegExp, () => Promise<void>, () => Promise<void>]>([
    ["that is down", /ECONNREFUSED/, () => issuer.stop(), () => issuer.start()],
    [
      "that names another issuer",
      /discovery document names the issuer "https:\/\/elsewhere.example"/,
      () => says({ issuer: "https://elsewhere.example" }),
      () => says({}),
    ],
    [
      "that publishes its keys without TLS",
      /`http:\/\/127.0.0.1:9\/keys` is not an https URL/,
      () => says({ jwks_uri: "http://127.0.0.1:9/keys" }),
      () => says({}),
    ],
  ])("%s is reported, does not affect other tokens, and is retried", async (_, words, breaks, mends) => {
    // The certificates of this test are not valid before now.
    ahead = 0
    logged.length = 0
    const token = await issuer.sign(claims())
    await breaks()
    await started()
    try {
      const result = await who(token)
      expect(result).toMatch(/^401 the OpenID Connect issuer `https:\/\/127.0.0.1:\d+` cannot be queried for its keys/)
      expect(result).toMatch(words)
      expect((await reviewed(token)).error).toMatch(words)
      expect(logged.join("\n")).toMatch(words)
      const { status } = await post("/api/v1/namespaces", { metadata: { name: "mine" } }, { asAdmin: true })
      expect(status).toBe(201)
      const path = "/api/v1/namespaces/mine/serviceaccounts"
      await post(path, { metadata: { name: "worker" } }, { asAdmin: true })
      const asked = await post(`${path}/worker/token`, { spec: {} }, { asAdmin: true })
      expect(await who(asString(dig(asked.body, "status", "token")))).toMatchObject({
        username: "system:serviceaccount:mine:worker",
      })
      await mends()
      ahead += ASK_AGAIN_MS
      expect(await who(await issuer.sign(claims()))).toMatchObject({ username: `${issuer.url}#jane` })
    } finally {
      await cluster.close()
      rmSync(data, { recursive: true, force: true })
      data = join(folder, "cluster")
      cluster = other
    }
  })
})

it("accepts an email as name if it is verified or the issuer does not say", async () => {
  const values = { "oidc-issuer-url": issuer.url, "oidc-client-id": "merlon", "oidc-ca-file": join(folder, "ca.pem") }
  const options = clusterOidcOptions({ ...values, "oidc-username-claim": "email" })
  if (options === undefined) throw new Error("there is an issuer")
  const tokens = new OidcTokens(options, Date.now, () => undefined)
  ahead = 0
  const named = async (more: JWTPayload): Promise<string> => {
    const result = await tokens.check(await issuer.sign(claims({ email: "jane@example.com", ...more })), [ISSUER])
    return "error" in result ? result.error : result.user.name
  }
  expect(await named({})).toBe("jane@example.com")
  expect(await named({ email_verified: true })).toBe("jane@example.com")
  for (const result of [false, "true", 1])
    expect(await named({ email_verified: result })).toMatch(/not verified the token/)
  await tokens.close()
})
