// SPDX-License-Identifier: Apache-2.0
// Tokens as Istio's proxy finds and verifies them. `test/e2e/istio-tokens-agree.test.ts` compares the same cases with
// Envoy.

import { describe, expect, it } from "vitest"
import { signedToken, withReplayKeys } from "../proof/replay-keys.js"
import { keysOf } from "../proof/token-rules.js"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { authenticate } from "./authenticate.js"
import { compileTokenRules } from "./program.js"
import { NOW } from "./testing/issuer.js"
import { policy, type RequestParts, request, verdict } from "./testing/stage.js"

const rule = (issuer: string, more: Partial<JwtRule> = {}): JwtRule => ({
  issuer,
  jwksUri: `https://${issuer}`,
  ...more,
})
const token = (iss: string, more: { readonly [claim: string]: string | number } = {}): string => {
  const [key = ""] = keysOf(rule(iss))
  return signedToken({ place: "", claims: { iss, sub: "s", exp: NOW + 60, ...more }, key, expires: false }, NOW)
}
const bearer = (text: string): RequestParts => ({ headers: { authorization: `Bearer ${text}` } })
const run = (rules: readonly JwtRule[], parts: RequestParts) => {
  const [document] = withReplayKeys([policy("p", rules)])
  if (document?.kind !== "RequestAuthentication") throw new Error("no policy")
  const program = compileTokenRules([document], () => undefined, "istio")
  return authenticate(program, request(parts), NOW, undefined)
}

const X = { fromHeaders: [{ name: "x-token" }] }
const cases: readonly (readonly [string, readonly JwtRule[], RequestParts, string])[] = [
  [
    "the scheme in another case is no token",
    [rule("a")],
    { headers: { authorization: `bearer ${token("b")}` } },
    "pass",
  ],
  ["the prefix is found anywhere", [rule("a")], { headers: { authorization: `x Bearer ${token("a")}` } }, "pass as s"],
  [
    "every token of a rule must be valid",
    [rule("a")],
    { ...bearer(token("a")), target: "/?access_token=x" },
    "JwtBadFormat",
  ],
  [
    "a later rule's bad token is not looked at",
    [rule("a"), rule("b", X)],
    { headers: { "x-token": "x", ...bearer(token("a")).headers } },
    "pass as s",
  ],
  [
    "an earlier rule's bad token is not either",
    [rule("b"), rule("a", X)],
    { headers: { "x-token": "x", ...bearer(token("b")).headers } },
    "pass as s",
  ],
  [
    "two tokens of one place that suit different rules",
    [rule("a", X), rule("b", X)],
    { headers: { "x-token": [token("a"), token("b")] } },
    "JwtUnknownIssuer",
  ],
  [
    "the rule of the first issuer tells who calls",
    [rule("b"), rule("a", X)],
    { headers: { "x-token": token("a", { sub: "first" }), ...bearer(token("b")).headers } },
    "pass as first",
  ],
  [
    "a header comes before a parameter",
    [rule("a")],
    { ...bearer(token("a", { sub: "first" })), target: `/?access_token=${token("a")}` },
    "pass as first",
  ],
  [
    "what rules write is removed before tokens are looked for",
    [rule("a", X), rule("b", { outputPayloadToHeader: "x-token" })],
    { headers: { "x-token": "x" } },
    "pass",
  ],
  ["`iat` in the future", [rule("a")], bearer(token("a", { iat: NOW + 3600 })), "pass as s"],
  [
    "claims are checked before the signature",
    [rule("a")],
    bearer(`${token("a", { exp: NOW - 600 }).slice(0, -6)}AAAAAA`),
    "JwtExpired",
  ],
]

it.each(cases)("%s", (_, rules, parts, expected) => {
  expect(verdict(run(rules, parts))).toBe(expected)
})

describe("an accepted token", () => {
  const edits = (rules: readonly JwtRule[], parts: RequestParts) => {
    const result = run(rules, parts)
    return result.outcome === "pass" ? result.edits : undefined
  }

  it("is removed with its whole header", () => {
    expect(edits([rule("a")], bearer(token("a")))?.removeHeaders).toEqual(["authorization"])
    expect(edits([rule("a", { forwardOriginalToken: true })], bearer(token("a")))?.removeHeaders).toEqual([])
  })

  it("is left in a cookie", () => {
    const parts = { headers: { cookie: `t=${token("a")}` } }
    expect(edits([rule("a", { fromCookies: ["t"] })], parts)).toMatchObject({ removeHeaders: [], cookie: undefined })
  })

  it("writes a line for each claim", () => {
    const outputClaimToHeaders = ["iss", "sub"].map(claim => ({ header: "x-out", claim }))
    const { setHeaders } = edits([rule("a", { outputClaimToHeaders })], bearer(token("a"))) ?? {}
    expect(setHeaders).toEqual([
      ["x-out", "a"],
      ["x-out", "s"],
    ])
  })
})
