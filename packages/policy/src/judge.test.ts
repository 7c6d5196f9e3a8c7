// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync } from "node:crypto"
import { SignJWT } from "jose"
import { beforeAll, describe, expect, it, test } from "vitest"
import { ip, mesh, policy, workload } from "./authorization/testing/requests.js"
import { type HttpRequest, type Judgement, judge } from "./judge.js"
import { meshConfig } from "./mesh/config.js"
import { compile } from "./program.js"
import { parseSpiffeId } from "./request/spiffe-id.js"
import type { PolicyDocument } from "./resources/document.js"
import type { MtlsMode } from "./resources/peer-authentication/definition.js"
import type { JwtRule } from "./resources/request-authentication/definition.js"

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k" }] })
const NOW = 1_800_000_000
const ISSUER = "issuer@example.com"

const tokens: Record<string, string> = {}
beforeAll(async () => {
  const mint = (claims: object) =>
    new SignJWT({ ...claims }).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(privateKey)
  tokens.valid = await mint({ iss: ISSUER, sub: ISSUER, exp: NOW + 60, groups: ["group1", "group2"] })
  tokens.other = await mint({ iss: ISSUER, sub: "other", exp: NOW + 60 })
  tokens.expired = await mint({ iss: ISSUER, sub: ISSUER, exp: NOW - 61 })
  tokens.audience = await mint({ iss: ISSUER, sub: ISSUER, aud: "b" })
})

const meta = (name: string, namespace = "foo") => ({ name, namespace, creationTimestamp: "2026-01-01T00:00:00Z" })
const apiVersion = "security.merlon.dev/v1alpha3"

const requestAuthentication = (rule: Partial<JwtRule> = {}): PolicyDocument => ({
  apiVersion,
  kind: "RequestAuthentication",
  metadata: meta("jwt"),
  spec: { jwtRules: [{ issuer: ISSUER, jwks, ...rule }] },
})
const peers = (mode: MtlsMode): PolicyDocument => ({
  apiVersion,
  kind: "PeerAuthentication",
  metadata: meta("peers", "merlon-system"),
  spec: { mtls: { mode } },
})
const requirePrincipal = policy("require", {
  rules: [{ from: [{ source: { requestPrincipals: [`${ISSUER}/${ISSUER}`] } }] }],
})
const requireGroup = policy("group", {
  rules: [
    {
      from: [{ source: { requestPrincipals: ["*"] } }],
      when: [{ key: "request.auth.claims[groups]", values: ["group1"] }],
    },
  ],
})

interface Asked extends Partial<HttpRequest> {
  readonly token?: string
  readonly mtls?: boolean
}

function ask(
  documents: readonly PolicyDocument[],
  { token, mtls = false, ...request }: Asked = {},
  config = mesh,
): Judgement {
  const bearer = token === undefined ? [] : [["authorization", [`Bearer ${tokens[token] ?? token}`]] as const]
  return judge(
    compile(documents, workload, config),
    {
      peer: mtls ? parseSpiffeId("spiffe://cluster.local/ns/app/sa/consumer") : undefined,
      sourceIp: ip("10.0.0.9"),
      destinationIp: ip("10.0.0.1"),
      destinationPort: 8080,
      sni: undefined,
    },
    {
      method: "GET",
      scheme: "http",
      host: "httpbin.foo:8000",
      target: "/headers",
      headers: new Map(bearer),
      ...request,
    },
    NOW,
  )
}

const outcome = (judgement: Judgement): string => {
  if (judgement.verdict === "allow") return "pass"
  return judgement.reply === undefined ? "closed" : `${judgement.reply.status} ${judgement.reply.body}`.trim()
}

describe("every stage, in order", () => {
  const jwt = requestAuthentication()
  test.each<[string, PolicyDocument[], Asked, string]>([
    ["nothing applies", [], {}, "pass"],
    ["a valid token", [jwt], { token: "valid" }, "pass"],
    ["no token", [jwt], {}, "pass"],
    [
      "an invalid token",
      [jwt],
      { token: "abc" },
      "401 Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections",
    ],
    ["an expired token", [jwt], { token: "expired" }, "401 Jwt is expired"],
    [
      "another audience",
      [requestAuthentication({ audiences: ["a"] })],
      { token: "audience" },
      "403 Audiences in Jwt are not allowed",
    ],
    ["a required token", [requestAuthentication({ presence: "REQUIRED" })], {}, "401 Jwt is missing"],
    ["the principal that is required", [jwt, requirePrincipal], { token: "valid" }, "pass"],
    ["no principal where one is required", [jwt, requirePrincipal], {}, "403 RBAC: access denied"],
    ["another principal", [jwt, requirePrincipal], { token: "other" }, "403 RBAC: access denied"],
    [
      "a bad token is told before a missing permission",
      [jwt, requirePrincipal],
      { token: "expired" },
      "401 Jwt is expired",
    ],
    ["the group that is required", [jwt, requireGroup], { token: "valid" }, "pass"],
    ["no group", [jwt, requireGroup], { token: "other" }, "403 RBAC: access denied"],
    ["plaintext under STRICT", [peers("STRICT"), jwt], { token: "valid" }, "closed"],
    ["mTLS under STRICT", [peers("STRICT"), jwt], { mtls: true }, "pass"],
    ["plaintext under PERMISSIVE", [peers("PERMISSIVE")], {}, "pass"],
    ["mTLS under DISABLE", [peers("DISABLE")], { mtls: true }, "closed"],
    ["a target without canonical form", [], { target: "/a%00" }, "400"],
    ["a fragment", [], { target: "/a#b" }, "400"],
  ])("%s", (_, documents, asked, expected) => {
    expect(outcome(ask(documents, asked))).toBe(expected)
  })
})

it("forwards the normalised target without the token it verified", () => {
  const judgement = ask([requestAuthentication()], { target: `/a/../headers?access_token=${tokens.valid}&a=1` })
  expect(judgement).toMatchObject({ verdict: "allow", target: "/headers?a=1" })
  expect(ask([], { target: "/x/%2e%2E/y?q" })).toMatchObject({ target: "/y?q" })
})

describe("authorization sees what the application will see", () => {
  const named = requestAuthentication({ outputClaimToHeaders: [{ header: "X-Sub", claim: "sub" }] })
  const byHeader = (key: string, value: string, action: "ALLOW" | "DENY" = "ALLOW") =>
    policy("by-header", { action, rules: [{ when: [{ key: `request.headers[${key}]`, values: [value] }] }] })
  const forged = (...lines: (readonly [string, readonly string[]])[]) => ({ headers: new Map(lines) })
  const bearer = (): readonly [string, readonly string[]] => ["authorization", [`Bearer ${tokens.other}`]]

  test.each<[string, PolicyDocument[], () => Asked, string]>([
    ["a claim that was written to a header", [named, byHeader("x-sub", ISSUER)], () => ({ token: "valid" }), "pass"],
    [
      "no output header of a caller without token",
      [named, byHeader("x-sub", ISSUER)],
      () => forged(["x-sub", [ISSUER]]),
      "403 RBAC: access denied",
    ],
    [
      "no output header of a caller with another token",
      [named, byHeader("x-sub", ISSUER)],
      () => forged(["x-sub", [ISSUER]], bearer()),
      "403 RBAC: access denied",
    ],
    [
      "no output header of a preflight",
      [named, byHeader("x-sub", ISSUER)],
      () => ({
        method: "OPTIONS",
        ...forged(["x-sub", [ISSUER]], ["origin", ["http://a"]], ["access-control-request-method", ["GET"]]),
      }),
      "403 RBAC: access denied",
    ],
    [
      "no other spelling of an output header",
      [named, byHeader("x_sub", ISSUER)],
      () => forged(["x_sub", [ISSUER]]),
      "403 RBAC: access denied",
    ],
    [
      "no other spelling of a token header",
      [requestAuthentication({ fromHeaders: [{ name: "x-jwt" }] }), byHeader("x.jwt", "*", "DENY")],
      () => forged(["x.jwt", ["a"]]),
      "pass",
    ],
    [
      "no header under the mesh's own prefix",
      [byHeader("x-merlon-tier", "gold")],
      () => forged(["x-merlon-tier", ["gold"]]),
      "403 RBAC: access denied",
    ],
    [
      "no header that `Connection` nominates",
      [byHeader("x-tier", "gold")],
      () => forged(["x-tier", ["gold"]], ["connection", ["close, X-Tier"]]),
      "403 RBAC: access denied",
    ],
    [
      "cookies, which `Connection` cannot nominate",
      [byHeader("cookie", "a=1", "DENY")],
      () => forged(["cookie", ["a=1"]], ["connection", ["cookie"]]),
      "403 RBAC: access denied",
    ],
    [
      "the scheme of the connection, whatever a caller claims",
      [byHeader("x-forwarded-proto", "http")],
      () => forged(["x-forwarded-proto", ["https"]]),
      "pass",
    ],
    [
      "no certificate of a plaintext caller",
      [byHeader("x-forwarded-client-cert", "*")],
      () => forged(["x-forwarded-client-cert", ["URI=spiffe://cluster.local/ns/app/sa/consumer"]]),
      "403 RBAC: access denied",
    ],
    [
      "the identity of an mTLS caller",
      [byHeader("x-forwarded-client-cert", "*URI=spiffe://cluster.local/ns/app/sa/consumer")],
      () => ({ mtls: true }),
      "pass",
    ],
    [
      "no token that was taken out",
      [requestAuthentication(), byHeader("authorization", "*", "DENY")],
      () => ({ token: "valid" }),
      "pass",
    ],
    [
      "a token that is forwarded",
      [requestAuthentication({ forwardOriginalToken: true }), byHeader("authorization", "*", "DENY")],
      () => ({ token: "valid" }),
      "403 RBAC: access denied",
    ],
    [
      "the target without its token",
      [requestAuthentication(), byHeader(":path", "/headers?a=1")],
      () => ({ target: `/headers?access_token=${tokens.valid}&a=1` }),
      "pass",
    ],
    [
      "the cookies without their token",
      [requestAuthentication({ fromCookies: ["t"] }), byHeader("cookie", "a=1")],
      () => forged(["cookie", [`t=${tokens.valid}; a=1`]]),
      "pass",
    ],
    [
      "a header that nobody touches",
      [named, byHeader("x-tier", "gold")],
      () => forged(["x-tier", ["gold"]], bearer()),
      "pass",
    ],
  ])("%s", (_, documents, asked, expected) => {
    expect(outcome(ask(documents, asked()))).toBe(expected)
  })
})

it("challenges a missing token without an error code, and an invalid one with it", () => {
  const challenge = (judgement: Judgement) => (judgement.verdict === "deny" ? judgement.reply?.challenge : undefined)
  const required = [requestAuthentication({ presence: "REQUIRED" })]
  expect(challenge(ask(required))).toBe('Bearer realm="http://httpbin.foo:8000/headers"')
  expect(challenge(ask(required, { token: "expired" }))).toBe(
    'Bearer realm="http://httpbin.foo:8000/headers", error="invalid_token"',
  )
})

it("takes the client address only from trusted proxies", () => {
  const byClient = policy("client", { rules: [{ from: [{ source: { remoteIpBlocks: ["203.0.113.7"] } }] }] })
  const headers = new Map([["x-forwarded-for", ["203.0.113.7"]]])
  expect(outcome(ask([byClient], { headers }))).toBe("403 RBAC: access denied")
  expect(outcome(ask([byClient], { headers }, meshConfig({ numTrustedProxies: 1 })))).toBe("pass")
})

it("denies a request that it cannot evaluate, and evaluates the next", () => {
  const broken = {
    get(): never {
      throw new Error("no headers")
    },
  }
  const documents = [requestAuthentication(), requirePrincipal]
  expect(outcome(ask(documents, { headers: broken }))).toBe("500")
  expect(ask(documents, { headers: broken })).toMatchObject({ verdict: "deny", stage: "internal" })
  expect(outcome(ask(documents, { token: "valid" }))).toBe("pass")
})

it("contains the evidence of each stage", () => {
  expect(ask([requestAuthentication(), requirePrincipal], { token: "other" })).toMatchObject({
    stage: "allow",
    authentication: { by: { policy: { name: "jwt" }, rule: 0 } },
    decision: { nearest: { failed: { actual: `${ISSUER}/other` } } },
  })
  expect(ask([peers("STRICT")])).toMatchObject({ stage: "transport", mode: "STRICT" })
})
