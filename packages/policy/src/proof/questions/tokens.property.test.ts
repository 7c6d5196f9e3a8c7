// SPDX-License-Identifier: Apache-2.0
// Compares token rules with `judge`, using tokens that are really signed: no request with any of them distinguishes
// sets that the proof reports as equal.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { meshConfig } from "../../mesh/config.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyDocument, RequestAuthentication } from "../../resources/document.js"
import type { JwtRule } from "../../resources/request-authentication/definition.js"
import { policySide } from "../policy-side.js"
import { Replay } from "../replay.js"
import { workload } from "../testing/sets.js"
import { assertUntilSeen } from "../testing/until-seen.js"
import { keysOf } from "../token-rules.js"
import type { Witness } from "../witness.js"
import { compareSets } from "./compare.js"

const mesh = meshConfig()
const NOW = 1_700_000_000
const pick = <T>(...values: T[]) => fc.constantFrom(...values)
const KEYS = ["https://a.example/keys", "https://b.example/keys"]

const jwtRule: fc.Arbitrary<JwtRule> = fc.record(
  {
    issuer: pick("a", "b"),
    jwksUri: pick(...KEYS),
    audiences: pick(["api"], ["https://api/"], ["other"]),
    presence: pick("REQUIRED", "OPTIONAL"),
    requireExpiration: fc.boolean(),
    fromHeaders: pick([{ name: "x-token" }], [{ name: "Authorization", prefix: "Bearer " }]),
  },
  { requiredKeys: ["jwksUri"] },
) as fc.Arbitrary<JwtRule> // fast-check knows no exact optional types
const rule: fc.Arbitrary<Rule> = pick<Rule>(
  {},
  { from: [{ source: { requestPrincipals: ["*"] } }] },
  { from: [{ source: { requestPrincipals: ["a/*"] } }] },
  { from: [{ source: { notRequestPrincipals: ["a/*"] } }] },
  { when: [{ key: "request.auth.audiences", values: ["api"] }] },
  { when: [{ key: "request.auth.claims[g]", values: ["v"] }], to: [{ operation: { methods: ["GET"] } }] },
  { to: [{ operation: { methods: ["OPTIONS"] } }] },
)
const named = (kind: string) => ({ name: kind, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" })
const authentication = (jwtRules: readonly JwtRule[]): RequestAuthentication => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "RequestAuthentication",
  metadata: named("jwt"),
  spec: { jwtRules: [...jwtRules] },
})
const authorization = (action: "ALLOW" | "DENY", rules: readonly Rule[]): AuthorizationPolicy => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: named(action.toLowerCase()),
  spec: { action, rules: [...rules] },
})
const pairs = fc
  .record({
    tokens: fc.array(jwtRule, { maxLength: 3 }),
    change: pick("none" as const, "reverse" as const, "drop" as const, "add" as const, "edit" as const),
    other: jwtRule,
    allow: fc.array(rule, { maxLength: 2 }),
    deny: fc.array(rule, { maxLength: 1 }),
    changed: fc.array(rule, { maxLength: 1 }),
  })
  .map(({ tokens, change, other, allow, deny, changed }) => {
    const edits = {
      none: tokens,
      reverse: tokens.toReversed(),
      drop: tokens.slice(1),
      add: [...tokens, other],
      edit: [...tokens.slice(1), ...tokens.slice(0, 1).map(one => ({ ...one, ...other }))],
    } as const
    const rules = [
      ...(allow.length > 0 ? [authorization("ALLOW", allow)] : []),
      ...(deny.length > 0 ? [authorization("DENY", deny)] : []),
    ]
    const more = changed.length > 0 ? [authorization("DENY", [...deny, ...changed])] : rules.slice(-1)
    return [
      [authentication(tokens), ...rules],
      [authentication(edits[change]), ...rules.slice(0, -1), ...more],
    ] as readonly (readonly PolicyDocument[])[]
  })

const PLACES = ['["header","authorization","Bearer "]', '["header","x-token",""]', '["param","access_token",""]']
const requests: fc.Arbitrary<Witness> = fc
  .record({
    method: pick("GET", "OPTIONS"),
    preflight: fc.boolean(),
    principal: pick(undefined, "cluster.local/ns/a/sa/x"),
    tokens: fc.array(
      fc.record({
        place: pick(...PLACES),
        iss: pick("a", "b", "c", undefined),
        sub: pick("s", undefined),
        aud: pick<string | readonly string[] | undefined>(undefined, "api", ["https://api", "x"], "other"),
        g: pick(undefined, "v"),
        key: pick(
          ...KEYS.flatMap(jwksUri =>
            ["a", "b", undefined].flatMap(issuer => keysOf(issuer === undefined ? { jwksUri } : { issuer, jwksUri })),
          ),
          undefined,
        ),
        expires: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
  })
  .map(({ method, preflight, principal, tokens }): Witness => {
    const present = <T>(fields: { readonly [name: string]: T | undefined }) =>
      Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, T] => entry[1] !== undefined))
    const [token, secondToken] = tokens.map(
      ({ place, iss, sub, aud, g, key, expires }): NonNullable<Witness["token"]> => ({
        place,
        claims: present({ iss, sub, aud, g }),
        ...(key !== undefined && { key }),
        expires,
      }),
    )
    return {
      protocol: "http",
      ...(principal === undefined ? {} : { principal }),
      sourceIp: "10.0.0.9",
      destinationIp: "10.0.0.1",
      port: 8080,
      method,
      host: "web.foo",
      path: "/",
      headers: preflight ? { origin: ["https://x"], "access-control-request-method": ["GET"] } : {},
      ...(token && { token }),
      ...(secondToken && { secondToken }),
    }
  })

it("is never contradicted by a request with a signed token", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { equal: 0, different: 0, undecided: 0 }
  assertUntilSeen(
    fc.property(pairs, fc.array(requests, { minLength: 25, maxLength: 25 }), ([before = [], after = []], some) => {
      const { result, changes, undecided } = compareSets(before, after, workload, mesh, { now: NOW })
      seen[result]++
      const [was, is] = [before, after].map(documents => new Replay(policySide(documents, workload, mesh)))
      for (const witness of some) {
        const [old, young] = [was?.run(witness, NOW).outcome, is?.run(witness, NOW).outcome]
        if (old === young) continue
        expect(result).not.toBe("equal")
        if (undecided === undefined)
          expect(changes.map(({ from, to }) => `${from} → ${to}`)).toContain(`${old} → ${young}`)
      }
    }),
    { numRuns: 40 * inject("effort") },
    seen,
    "equal",
    "different",
  )
})
