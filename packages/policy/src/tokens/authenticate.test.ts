// SPDX-License-Identifier: Apache-2.0
import { beforeAll, describe, expect, it } from "vitest"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { NO_EDITS } from "./edits.js"
import { compileTokenRules, keySetId } from "./program.js"
import { responseDetail } from "./reply.js"
import { encode, ISSUER, jwks, NOW, type Signer, signer } from "./testing/issuer.js"
import { keySet, policy, program, type RequestParts, run, verdict } from "./testing/stage.js"
import { TOKEN_ERRORS, tokenErrorStatus, tokenErrorText } from "./token-errors.js"

let issuer: Signer
let stranger: Signer
let rule: JwtRule
let valid: string

beforeAll(async () => {
  issuer = await signer("ES256", "k1")
  stranger = await signer("ES256", "k2")
  rule = { issuer: ISSUER, jwks: jwks(issuer.jwk) }
  valid = await issuer.sign()
})

const bearing = (token: string): RequestParts => ({ headers: { authorization: `Bearer ${token}` } })

/** The outcome for a token with these claims under the default rule with these changes. */
async function outcome(claims: Record<string, unknown>, changes: Partial<JwtRule> = {}, now = NOW): Promise<string> {
  return verdict(run(program({ ...rule, ...changes }), bearing(await issuer.sign(claims)), { now }))
}

describe("one rule", () => {
  it("passes a request without a token, untouched", () => {
    const result = run(program(rule), {})
    expect(result).toMatchObject({ outcome: "pass", token: undefined, by: undefined })
    expect(result.outcome === "pass" && result.edits).toBe(NO_EDITS)
  })

  it("accepts a valid token, names the rule and removes the header", () => {
    expect(run(program(rule), bearing(valid))).toMatchObject({
      outcome: "pass",
      token: { issuer: ISSUER, subject: "alice" },
      by: { policy: { namespace: "foo", name: "p" }, rule: 0 },
      edits: { removeHeaders: ["authorization"], setHeaders: [], target: undefined, cookie: undefined },
      unknownKeys: [],
    })
  })

  it("accepts a lower-case `bearer`", () => {
    const result = run(program(rule), { headers: { authorization: `bearer ${valid}` } })
    expect(verdict(result)).toBe("pass as alice")
  })

  it("removes the token from the query", () => {
    const result = run(program(rule), { target: `/get?access_token=${valid}&a=1` })
    expect(result).toMatchObject({ outcome: "pass", edits: { target: "/get?a=1", removeHeaders: [] } })
  })

  it.each([
    ["exp 30 s ago", { exp: NOW - 30 }, "pass as alice"],
    ["exp 60 s ago", { exp: NOW - 60 }, "pass as alice"],
    ["exp 61 s ago", { exp: NOW - 61 }, "JwtExpired"],
    ["exp 60.5 s ago", { exp: NOW - 60.5 }, "JwtExpired"],
    ["no exp", { exp: undefined }, "pass as alice"],
    ["exp 0", { exp: 0 }, "pass as alice"],
    ["exp 0.5", { exp: 0.5 }, "JwtExpired"],
    ["nbf in 59 s", { nbf: NOW + 59 }, "pass as alice"],
    ["nbf in 60 s", { nbf: NOW + 60 }, "pass as alice"],
    ["nbf in 61 s", { nbf: NOW + 61 }, "JwtNotYetValid"],
    ["iat in 60 s", { iat: NOW + 60 }, "pass as alice"],
    ["iat in 61 s", { iat: NOW + 61 }, "JwtNotYetValid"],
    ["iat long ago", { iat: 1 }, "pass as alice"],
    ["another issuer", { iss: "https://other.example.com" }, "JwtUnknownIssuer"],
    ["the issuer with a slash", { iss: `${ISSUER}/` }, "JwtUnknownIssuer"],
    ["no issuer", { iss: undefined }, "JwtUnknownIssuer"],
    ["an issuer that is no string", { iss: 7 }, "JwtIssNotString"],
    ["no subject", { sub: undefined }, "pass as undefined"],
  ])("answers a token with %s", async (_, claims, expected) => {
    expect(await outcome(claims)).toBe(expected)
  })

  it("rejects every token with a date if the clock is broken", async () => {
    expect(await outcome({}, {}, Number.NaN)).toBe("JwtExpired")
    expect(await outcome({ nbf: 1 }, {}, Number.NaN)).toBe("JwtNotYetValid")
  })

  it("rejects a token without expiry if the rule requires one", async () => {
    expect(await outcome({ exp: undefined }, { requireExpiration: true })).toBe("JwtExpRequired")
    expect(await outcome({ exp: 0 }, { requireExpiration: true })).toBe("JwtExpRequired")
    expect(await outcome({}, { requireExpiration: true })).toBe("pass as alice")
  })

  it.each([
    [["https://a.com/"], "a.com", "pass as alice"],
    [["a.com"], "http://a.com/", "pass as alice"],
    [["a"], ["x", "a"], "pass as alice"],
    [["a"], "b", "JwtAudienceNotAllowed"],
    [["a"], "A", "JwtAudienceNotAllowed"],
    [["a"], [], "JwtAudienceNotAllowed"],
    [["a"], undefined, "JwtAudienceNotAllowed"],
    [["https://"], "/", "JwtAudienceNotAllowed"],
    [[], "whatever", "pass as alice"],
  ])("compares audiences %j with aud %j", async (audiences, aud, expected) => {
    expect(await outcome({ aud }, { audiences })).toBe(expected)
  })

  it("accepts every issuer of its keys if it names none", async () => {
    expect(await outcome({ iss: "x" }, { issuer: undefined } as unknown as JwtRule)).toBe("pass as alice")
    expect(verdict(run(program({ jwks: jwks(issuer.jwk) }), bearing(await stranger.sign())))).toBe("JwksKidAlgMismatch")
  })

  it.each([
    ["three sections are missing", "abc", "JwtBadFormat"],
    ["alg none, no signature", `${encode({ alg: "none" })}.${encode({ iss: ISSUER })}.`, "JwtBadFormat"],
    [
      "alg none, some signature",
      `${encode({ alg: "none" })}.${encode({ iss: ISSUER })}.AAAA`,
      "JwtHeaderAlgNotSupported",
    ],
  ])("rejects where %s", (_, token, expected) => {
    expect(verdict(run(program(rule), bearing(token)))).toBe(expected)
  })

  it("reports the signature before time and audience, so that a forger learns nothing about claims", async () => {
    const forger = await signer("ES256", "forger")
    const claims = { exp: 1, nbf: NOW + 999, aud: "b" }
    const strict = program({ ...rule, audiences: ["a"] })
    expect(verdict(run(strict, bearing(await forger.sign(claims, { kid: "k1" }))))).toBe("JwtVerificationFail")
    expect(verdict(run(strict, bearing(await forger.sign(claims))))).toBe("JwksKidAlgMismatch")
    expect(verdict(run(strict, bearing(await issuer.sign(claims))))).toBe("JwtNotYetValid")
    expect(verdict(run(strict, bearing(await issuer.sign({ exp: 1, aud: "b" }))))).toBe("JwtExpired")
    expect(verdict(run(strict, bearing(await issuer.sign({ aud: "b" }))))).toBe("JwtAudienceNotAllowed")
  })
})

describe("keys", () => {
  const fetched: JwtRule = { issuer: ISSUER, jwksUri: "https://issuer.example.com/keys" }

  it("that were never fetched: rejects tokens and accepts requests without one", () => {
    const compiled = compileTokenRules([policy("p", [fetched])], () => undefined)
    expect(verdict(run(compiled, bearing(valid)))).toBe("JwksFetchFail")
    expect(verdict(run(compiled, {}))).toBe("pass")
    expect(run(compiled, bearing(valid)).unknownKeys).toEqual([])
  })

  it("that are in the policy but unusable: does the same, with another text", () => {
    for (const text of ["", "{}", jwks(), jwks({ kty: "oct", k: "AAAA" })]) {
      const compiled = program({ issuer: ISSUER, jwks: text })
      expect(verdict(run(compiled, bearing(valid)))).toBe("JwksNoValidKeys")
      expect(verdict(run(compiled, {}))).toBe("pass")
    }
  })

  it("that lack the token's key: names the key set, so that it is fetched again", async () => {
    const set = keySet(jwks(issuer.jwk))
    const compiled = compileTokenRules([policy("p", [fetched])], () => set)
    const result = run(compiled, bearing(await stranger.sign()))
    expect(verdict(result)).toBe("JwksKidAlgMismatch")
    expect(result.unknownKeys).toEqual([keySetId(fetched)])
    expect(run(compiled, bearing(valid)).unknownKeys).toEqual([])
    expect(run(compiled, bearing(await stranger.sign({ iss: "other" }))).unknownKeys).toEqual([])
    expect(run(program(rule), bearing(await stranger.sign())).unknownKeys).toEqual([])
  })

  it("have an id by issuer, URI and authorities", () => {
    const jwksUri = "https://issuer.example.com/keys"
    const authorities = [
      { ...fetched, caBundle: "a" },
      { ...fetched, caBundle: "b" },
    ]
    const ids = [fetched, { issuer: ISSUER }, { jwksUri }, { issuer: "a" }, ...authorities].map(keySetId)
    expect(new Set(ids).size).toBe(6)
    expect(keySetId({ ...fetched })).toBe(keySetId(fetched))
  })
})

describe("presence REQUIRED", () => {
  it("rejects a request without a token, with a challenge that names no error", () => {
    expect(run(program({ ...rule, presence: "REQUIRED" }), { target: "/x?y=1" })).toMatchObject({
      outcome: "reject",
      error: "JwtMissing",
      status: 401,
      body: "Jwt is missing",
      challenge: 'Bearer realm="http://httpbin.foo:8000/x?y=1"',
      by: { policy: { name: "p" }, rule: 0 },
    })
  })

  it("is satisfied by a valid token, and an invalid one is reported instead", () => {
    const compiled = program({ ...rule, presence: "REQUIRED" })
    expect(verdict(run(compiled, bearing(valid)))).toBe("pass as alice")
    expect(verdict(run(compiled, bearing("abc")))).toBe("JwtBadFormat")
  })

  it("is not satisfied by a token of another rule at another place", () => {
    const other: JwtRule = { ...rule, fromHeaders: [{ name: "x-jwt" }], presence: "REQUIRED" }
    expect(verdict(run(program(rule, other), bearing(valid)))).toBe("JwtMissing")
    const headers = { authorization: `Bearer ${valid}`, "x-jwt": valid }
    expect(verdict(run(program(rule, other), { headers }))).toBe("pass as alice")
  })
})

describe("a CORS preflight", () => {
  const cors = { origin: "https://a.com", "access-control-request-method": "PUT" }
  const compiled = () => program({ ...rule, presence: "REQUIRED", outputPayloadToHeader: "x-payload" })

  it("is allowed, with an invalid token and without one", () => {
    for (const extra of [{}, { authorization: "Bearer abc" }]) {
      const result = run(compiled(), { method: "OPTIONS", headers: { ...cors, ...extra } })
      expect(result).toMatchObject({ outcome: "pass", token: undefined, edits: { removeHeaders: [] } })
    }
  })

  it("cannot forge an output header", () => {
    const headers = { ...cors, "x-payload": "forged" }
    const result = run(compiled(), { method: "OPTIONS", headers })
    expect(result).toMatchObject({ outcome: "pass", edits: { removeHeaders: ["x-payload"] } })
  })

  it.each([
    ["GET", cors],
    ["options", cors],
    ["OPTIONS", { origin: cors.origin }],
    ["OPTIONS", { ...cors, origin: "" }],
    ["OPTIONS", { ...cors, "access-control-request-method": "" }],
  ])("is only one with all three of its marks: %s %j", (method, headers) => {
    expect(verdict(run(compiled(), { method, headers }))).toBe("JwtMissing")
  })
})

describe("the reply", () => {
  it("carries status, literal text and challenge", () => {
    expect(run(program(rule), { ...bearing("abc"), target: "/get?a=1" })).toMatchObject({
      outcome: "reject",
      status: 401,
      body: "Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections",
      challenge: 'Bearer realm="http://httpbin.foo:8000/get?a=1", error="invalid_token"',
    })
  })

  it("cuts the path to 256 characters, escapes quotes and drops line breaks", () => {
    const long = run(program(rule), { ...bearing("abc"), target: `/${"a".repeat(300)}` })
    expect(long).toMatchObject({
      challenge: `Bearer realm="http://httpbin.foo:8000/${"a".repeat(255)}", error="invalid_token"`,
    })
    const hostile = run(program(rule), { ...bearing("abc"), target: '/a"\\\r\nx: y' })
    expect(hostile).toMatchObject({
      challenge: 'Bearer realm="http://httpbin.foo:8000/a\\"\\\\x: y", error="invalid_token"',
    })
  })

  it("is 403 for an audience and 401 for everything else", () => {
    const forbidden = TOKEN_ERRORS.filter(error => tokenErrorStatus(error) === 403)
    expect(forbidden).toEqual(["JwtAudienceNotAllowed"])
  })

  it("has a response detail for the log", () => {
    expect(responseDetail("JwtExpired")).toBe("jwt_authn_access_denied{Jwt_is_expired}")
  })

  it("has the texts that clients compare", () => {
    expect(Object.fromEntries(TOKEN_ERRORS.map(error => [error, tokenErrorText(error)]))).toMatchInlineSnapshot(`
      {
        "JwksFetchFail": "Jwks remote fetch is failed",
        "JwksKidAlgMismatch": "Jwks doesn't have key to match kid or alg from Jwt",
        "JwksNoValidKeys": "Jwks doesn't have any valid public key",
        "JwtAudNotStringOrList": "Jwt payload [aud] field is not a string or string list",
        "JwtAudienceNotAllowed": "Audiences in Jwt are not allowed",
        "JwtBadFormat": "Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections",
        "JwtEd25519SignatureWrongLength": "Jwt ED25519 signature is wrong length",
        "JwtExpNotInteger": "Jwt payload [exp] field is not an integer",
        "JwtExpOutOfRange": "Jwt payload [exp] field is not a positive 64 bit integer",
        "JwtExpRequired": "Jwt payload [exp] field is required",
        "JwtExpired": "Jwt is expired",
        "JwtHeaderAlgNotSupported": "Jwt header [alg] is not supported",
        "JwtHeaderBadAlg": "Jwt header [alg] field is required and must be a string",
        "JwtHeaderBadBase64": "Jwt header is an invalid Base64url encoded",
        "JwtHeaderBadJson": "Jwt header is an invalid JSON",
        "JwtHeaderBadKid": "Jwt header [kid] field is not a string",
        "JwtHeaderCritNotSupported": "Jwt header [crit] names an extension that is not supported",
        "JwtIatNotInteger": "Jwt payload [iat] field is not an integer",
        "JwtIatOutOfRange": "Jwt payload [iat] field is not a positive 64 bit integer",
        "JwtIssNotString": "Jwt payload [iss] field is not a string",
        "JwtJtiNotString": "Jwt payload [jti] field is not a string",
        "JwtMissing": "Jwt is missing",
        "JwtNbfNotInteger": "Jwt payload [nbf] field is not an integer",
        "JwtNbfOutOfRange": "Jwt payload [nbf] field is not a positive 64 bit integer",
        "JwtNotYetValid": "Jwt not yet valid",
        "JwtPayloadBadBase64": "Jwt payload is an invalid Base64url encoded",
        "JwtPayloadBadJson": "Jwt payload is an invalid JSON",
        "JwtSignatureBadBase64": "Jwt signature is an invalid Base64url encoded",
        "JwtSubNotString": "Jwt payload [sub] field is not a string",
        "JwtUnknownIssuer": "Jwt issuer is not configured",
        "JwtVerificationFail": "Jwt verification fails",
      }
    `)
  })
})

describe("a shadow policy", () => {
  it("is reported and changes nothing", () => {
    const shadow = policy("s", [{ ...rule, presence: "REQUIRED", outputPayloadToHeader: "x-p" }], {
      enforcement: "Shadow",
    })
    const compiled = compileTokenRules([shadow], () => undefined)
    const headers = { "x-p": "kept" }
    const missing = run(compiled, { headers })
    expect(missing).toMatchObject({
      outcome: "pass",
      token: undefined,
      shadow: { outcome: "reject", error: "JwtMissing", by: { policy: { name: "s" }, rule: 0 } },
    })
    expect(missing.outcome === "pass" && missing.edits).toBe(NO_EDITS)
    const bad = run(compiled, bearing("abc"))
    expect(bad).toMatchObject({ outcome: "pass", edits: { removeHeaders: [] }, shadow: { error: "JwtBadFormat" } })
    const good = run(compiled, bearing(valid))
    expect(good).toMatchObject({ outcome: "pass", token: undefined, edits: { removeHeaders: [] } })
    expect(good.shadow).toMatchObject({ outcome: "pass", error: undefined, by: { policy: { name: "s" } } })
  })

  it("is judged together with the enforced policies", async () => {
    const second = "https://second.example.com"
    const enforced = policy("e", [rule])
    const shadow = policy("s", [{ issuer: second, jwks: jwks(stranger.jwk) }], { enforcement: "Shadow" })
    const compiled = compileTokenRules([enforced, shadow], () => undefined)
    expect(run(compiled, bearing(valid))).toMatchObject({ outcome: "pass", shadow: { outcome: "pass" } })
    const other = run(compiled, bearing(await stranger.sign({ iss: second })))
    expect(other).toMatchObject({ outcome: "reject", error: "JwtUnknownIssuer", shadow: { outcome: "pass" } })
    expect(run(program(rule), bearing(valid)).shadow).toBeUndefined()
  })
})
