// SPDX-License-Identifier: Apache-2.0
// Changes of token rules that affect unchanged rules through headers: headers that are written, removed or kept.

import { describe, expect, it, test } from "vitest"
import { mesh, policy, workload } from "../../authorization/testing/requests.js"
import { meshConfig } from "../../mesh/config.js"
import type { Condition, Rule } from "../../resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../../resources/document.js"
import type { JwtRule } from "../../resources/request-authentication/definition.js"
import { authentication } from "../testing/token-sets.js"
import { compareSets } from "./compare.js"
import { checkInvariants } from "./invariants.js"

const KEYS = { issuer: "a", jwksUri: "https://a.example/keys" }
const tokens = (...rules: readonly Partial<JwtRule>[]): PolicyDocument =>
  authentication(rules.map(rule => ({ ...KEYS, ...rule })))
const reads = (name: string, ...values: readonly string[]): Condition => ({
  key: `request.headers[${name}]`,
  values: [...values],
})
const deny = (...when: readonly Condition[]): PolicyDocument =>
  policy("deny", { action: "DENY", rules: [{ when: [...when] }] })
const OPTIONS = { now: 1_000 }
const compared = (before: Partial<JwtRule>, after: Partial<JwtRule>, ...others: readonly PolicyDocument[]) =>
  compareSets([tokens(before), ...others], [tokens(after), ...others], workload, mesh, OPTIONS)

const EQUAL = { result: "equal", changes: [], undecided: undefined }
const banned = { outputClaimToHeaders: [{ header: "X-Banned", claim: "banned" }] }

describe("a header that a token rule begins to write", () => {
  it("no longer denies a caller who sends it", () => {
    const { result, changes } = compared({}, banned, deny(reads("x-banned", "yes")))
    expect(result).toBe("different")
    expect(changes).toContainEqual(
      expect.objectContaining({
        from: "deny",
        to: "allow",
        witness: expect.objectContaining({ headers: { "x-banned": ["yes"] } }),
      }),
    )
  })

  it("denies a caller by a claim of its token", () => {
    const { changes } = compared({}, banned, deny(reads("x-banned", "yes")))
    const claims = expect.objectContaining({ banned: "yes" })
    expect(changes).toContainEqual(
      expect.objectContaining({
        from: "allow",
        to: "deny",
        witness: expect.objectContaining({ token: expect.objectContaining({ claims }) }),
      }),
    )
  })

  it.each(["x_banned", "X.Banned"])("hides its other spelling %s from rules too", name => {
    expect(compared({}, banned, deny(reads(name, "yes"))).changes).toMatchObject([{ from: "deny", to: "allow" }])
  })

  it("changes nothing if no rule reads it", () => {
    expect(compared({}, banned, deny(reads("x-other", "yes")))).toEqual(EQUAL)
  })
})

describe("a header that the proxy writes itself", () => {
  it.each([
    ["a token is looked for there", { fromHeaders: [{ name: "X-Forwarded-Proto" }] }],
    [
      "a stored rule would write a claim there",
      { outputClaimToHeaders: [{ header: "x-forwarded-proto", claim: "p" }] },
    ],
    ["a stored rule would write the payload there", { outputPayloadToHeader: "X-Forwarded-Proto" }],
  ])("denies a caller without a token where %s", (_, rule) => {
    const guard = policy("deny", {
      action: "DENY",
      rules: [{ to: [{ operation: { methods: ["GET"] } }], when: [reads("x-forwarded-proto", "http")] }],
    })
    const { changes } = compareSets([tokens(rule), guard], [tokens(rule)], workload, mesh, OPTIONS)
    expect(changes).toMatchObject([{ from: "deny", to: "allow", witness: { protocol: "http", scheme: "http" } }])
    expect(changes[0]?.witness).not.toHaveProperty("token")
  })

  it("cannot be written by a token rule", () => {
    const rule = { outputClaimToHeaders: [{ header: "x-forwarded-client-cert", claim: "cert" }] }
    expect(compared({}, rule, deny(reads("x-forwarded-client-cert", "*")))).toEqual(EQUAL)
  })
})

describe("a token rule that forwards its token", () => {
  const forwards = { forwardOriginalToken: true }

  it("changes nothing if no rule reads the header", () => {
    const rules: Rule[] = [{ from: [{ source: { requestPrincipals: ["a/*"] } }] }, { when: [reads("x-tier", "gold")] }]
    expect(compared({}, forwards, policy("allow", { rules }))).toEqual(EQUAL)
  })

  test.each(["authorization", ":path"])("is never proved equal if a rule reads `%s`", name => {
    expect(compared({}, forwards, deny(reads(name, "*"))).result).not.toBe("equal")
  })

  it.each([
    ["the header", { fromHeaders: [{ name: "x-token" }] }, "x-token"],
    ["cookies", { fromCookies: ["t"] }, "cookie"],
  ])("denies what a rule on %s matches", (_, where, name) => {
    const { changes } = compared(where, { ...where, ...forwards }, deny(reads(name, "*")))
    expect(changes).toMatchObject([{ from: "allow", to: "deny" }])
  })
})

test.each<[string, Partial<JwtRule>, Partial<JwtRule>, Condition]>([
  ["a header", {}, { fromHeaders: [{ name: "x-token" }] }, reads("x-token", "*")],
  ["the second of two headers", {}, { fromHeaders: [{ name: "x-a" }, { name: "x-b" }] }, reads("x-b", "*")],
  ["another spelling of a header", {}, { fromHeaders: [{ name: "x-token" }] }, reads("x_token", "*")],
  ["cookies", {}, { fromCookies: ["t"] }, reads("cookie", "a=b*")],
  ["the query", { fromParams: ["a"] }, { fromParams: ["b"] }, reads(":path", "/?b*")],
  ["a payload", {}, { outputPayloadToHeader: "x-payload" }, reads("x-payload", "*")],
  ["a claim that is split", {}, { spaceDelimitedClaims: ["g"] }, { key: "request.auth.claims[g]", values: ["v"] }],
])("is not proved equal where a rule reads %s", (_, before, after, when) => {
  expect(compared(before, after, deny(when)).result).not.toBe("equal")
})

it("does not prove rules equal that read one header with and without a prefix", () => {
  const [bare, prefixed] = [{ fromHeaders: [{ name: "x" }] }, { fromHeaders: [{ name: "x", prefix: "T " }] }]
  expect(compared(bare, prefixed).result).not.toBe("equal")
})

describe("a request with two tokens", () => {
  const first = {
    fromHeaders: [{ name: "x-a" }],
    outputClaimToHeaders: [{ header: "x-out-a", claim: "g" }],
  }
  const second = {
    fromHeaders: [{ name: "x-b" }],
    outputClaimToHeaders: [{ header: "x-out-b", claim: "g" }],
    forwardOriginalToken: true,
  }
  const claim = { key: "request.auth.claims[g]", values: ["v"] }
  const ofFirst = { key: "request.auth.claims[iss]", values: ["a"] }
  // An ALLOW rule with such conditions matches no TCP connection, so only HTTP could make a difference.
  const allowing = (...when: readonly (readonly Condition[])[]) =>
    policy("allow", { rules: [{ to: [{ operation: { paths: ["/"] } }] }, ...when.map(list => ({ when: [...list] }))] })

  it.each([
    ["the header of the other", [ofFirst, reads("x-b", "*")]],
    ["what is written from the other", [ofFirst, reads("x-out-b", "v")]],
    ["two headers that one claim is written to", [reads("x-out-a", "v"), reads("x-out-b", "w")]],
    ["a claim, and a header that another is written to", [claim, reads("x-out-b", "w")]],
  ])("is not forgotten where a new rule reads %s", (_, when) => {
    const both = tokens(first, { ...second, issuer: "b" })
    const [before, after] = [
      [both, allowing()],
      [both, allowing(when)],
    ]
    expect(compareSets(before, after, workload, mesh, OPTIONS).result).not.toBe("equal")
  })

  it.each([
    ["a claim", claim],
    ["a header that both are written to", reads("x-out", "v")],
  ])("is not forgotten where another one counts and a rule reads %s", (_, when) => {
    const out = { outputClaimToHeaders: [{ header: "x-out", claim: "g" }] }
    const pair = [
      { ...first, ...out },
      { ...second, ...out },
    ]
    const [before, after] = [tokens(...pair), tokens(...pair.toReversed())].map(one => [one, allowing([when])])
    expect(compareSets(before ?? [], after ?? [], workload, mesh, OPTIONS).result).not.toBe("equal")
  })
})

describe("a change of what happens to an accepted token", () => {
  const second = { issuer: "b", jwksUri: "https://b.example/keys" }
  const forwards = { forwardOriginalToken: true }
  const payload = { outputPayloadToHeader: "x-payload" }
  const own = { fromHeaders: [{ name: "x-token" }] }

  it.each<[string, readonly Partial<JwtRule>[], readonly Partial<JwtRule>[], string]>([
    ["it is forwarded", [{}], [forwards], "authorization"],
    ["it is no longer forwarded", [forwards], [{}], "authorization"],
    ["both are forwarded", [{}, second], [forwards, { ...second, ...forwards }], "authorization"],
    ["a header that is all token is forwarded", [own], [{ ...own, ...forwards }], "x-token"],
    ["its payload is written", [{}], [payload], "x-payload"],
    ["its payload is no longer written", [payload], [{}], "x-payload"],
    ["its payload is written elsewhere", [payload], [{ outputPayloadToHeader: "x-other" }], "x-payload"],
    ["both payloads are written", [{}, second], [payload, { ...second, ...payload }], "x-payload"],
  ])("is decided where %s", (_, before, after, name) => {
    const guard = deny(reads(name, "*"))
    const compare = compareSets([tokens(...before), guard], [tokens(...after), guard], workload, mesh, OPTIONS)
    expect(compare).toMatchObject({ result: "different", undecided: undefined })
  })
})

describe("a change of the accepted issuers", () => {
  const [a, b] = [{ issuer: "a" }, { issuer: "b", jwksUri: "https://b.example/keys" }]
  const atHeader = { fromHeaders: [{ name: "x-b" }] }
  const allowing = (...requestPrincipals: readonly string[]) =>
    policy("allow", { rules: [{ from: [{ source: { requestPrincipals: [...requestPrincipals] } }] }] })
  const decided = (
    before: readonly Partial<JwtRule>[],
    after: readonly Partial<JwtRule>[],
    rules: PolicyDocument = allowing("a/*"),
  ) => compareSets([tokens(...before), rules], [tokens(...after), rules], workload, mesh, OPTIONS)

  it.each<[string, readonly Partial<JwtRule>[], readonly Partial<JwtRule>[]]>([
    ["an issuer is added", [a], [a, b]],
    ["an issuer is added that comes first", [b], [a, b]],
    ["an issuer is removed", [a, b], [a]],
    ["an issuer is replaced", [a, b], [a, { ...b, issuer: "c" }]],
    ["audiences are added", [a], [{ ...a, audiences: ["api"] }]],
    ["another place is looked at", [a, b], [a, { ...b, ...atHeader }]],
    ["keys change", [a, b], [a, { ...b, jwksUri: "https://c.example/keys" }]],
  ])("is decided where %s", (_, before, after) => {
    expect(decided(before, after)).toMatchObject({ result: "different", undecided: undefined })
  })

  it("is shown with two tokens if one token does not show it", () => {
    const { changes } = decided([a], [a, b])
    expect(changes).toContainEqual(
      expect.objectContaining({
        ...{ from: "unauthenticated", to: "allow" },
        region: expect.stringMatching(/, with two tokens$/),
        witness: expect.objectContaining({ token: expect.anything(), secondToken: expect.anything() }),
      }),
    )
  })

  it("is shown if the claims of another token count", () => {
    const { changes } = decided([b], [b, { ...a, ...atHeader }], allowing("b/*"))
    expect(changes.map(({ from, to }) => `${from} → ${to}`)).toContain("allow → deny")
  })

  it("is shown in two lines of one header", () => {
    const at = { fromHeaders: [{ name: "authorization", prefix: "Bearer " }] }
    const { changes } = decided(
      [{ ...a, ...at }],
      [a, b].map(rule => ({ ...rule, ...at })),
    )
    const place = '["header","authorization","Bearer "]'
    const both = expect.objectContaining({ token: expect.objectContaining({ place }), secondToken: expect.anything() })
    expect(changes).toContainEqual(expect.objectContaining({ from: "unauthenticated", to: "allow", witness: both }))
  })

  it("is shown if an invalid token accompanies a required one", () => {
    const required = { ...b, ...atHeader, presence: "REQUIRED" } as const
    const { changes, undecided } = decided(
      [{ ...a, fromHeaders: [{ name: "x-a" }] }],
      [required],
      policy("all", { rules: [{}] }),
    )
    expect(undecided).toBeUndefined()
    expect(changes.map(({ from, to }) => `${from} → ${to}`)).toContain("unauthenticated → allow")
  })

  it("is not proved if rules read a cookie and its whole header", () => {
    const cookie = { ...a, presence: "REQUIRED", fromCookies: ["t"] } as const
    const whole = { ...cookie, fromHeaders: [{ name: "cookie" }] }
    expect(decided([whole], [cookie], policy("all", { rules: [{}] })).undecided).toContain(
      "one header in different ways",
    )
  })

  it("is not proved with too many rules", () => {
    const others = ["c", "d", "e"].map(issuer => ({ issuer, jwksUri: `https://${issuer}.example/keys` }))
    expect(decided([a, b], [a, b, ...others]).undecided).toContain("more token rules change")
  })
})

describe("an invariant about a header that token rules change", () => {
  const verdict = (documents: readonly PolicyDocument[], rule: Rule) => {
    const invariant = {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "PolicyInvariant",
      metadata: { name: "i", namespace: workload.namespace },
      spec: { never: [{ name: "s", ...rule }] },
    } as const
    return checkInvariants([invariant], documents, [workload], mesh, OPTIONS)[0]?.result.verdict
  }

  it.each([
    ["x-banned", "holds"],
    ["x_banned", "holds"],
    ["x-other", "broken"],
  ])("is decided of `%s`", (name, expected) => {
    const when = [{ key: "request.auth.claims[iss]", notValues: ["a"] }, reads(name, "*")]
    expect(verdict([tokens(banned)], { when })).toBe(expected)
  })

  it("does not hold if one of two rules forwards the header", () => {
    const at = { fromHeaders: [{ name: "x-token" }] }
    const both = tokens({ ...at, forwardOriginalToken: true }, { ...at, issuer: "b" })
    const withToken = { from: [{ source: { requestPrincipals: ["*"] } }], when: [reads("x-token", "*")] }
    expect(verdict([both], withToken)).not.toBe("holds")
  })

  it("does not hold if the header is sent without the prefix of a token", () => {
    const rule = tokens({ fromHeaders: [{ name: "x-token", prefix: "T " }, { name: "x-two" }] })
    const withToken = { from: [{ source: { requestPrincipals: ["*"] } }], when: [reads("x-token", "v")] }
    expect(verdict([rule], withToken)).not.toBe("holds")
  })
})

test.each([
  ["normalize paths differently", { pathNormalization: "NONE" }, { to: [{ operation: { paths: ["/a"] } }] }],
  ["trust other proxies", { numTrustedProxies: 1 }, { from: [{ source: { remoteIpBlocks: ["10.0.0.0/8"] } }] }],
  [
    "trust other domains",
    { trustDomainAliases: ["old.td"] },
    { from: [{ source: { principals: ["cluster.local/ns/a/sa/x"] } }] },
  ],
] as const)("does not call policies equal whose meshes %s", (_, settings, rule) => {
  const set = [policy("p", { rules: [rule] })]
  const options = { ...OPTIONS, meshBefore: meshConfig(settings) }
  expect(compareSets(set, set, workload, mesh, options).result).not.toBe("equal")
  expect(compareSets(set, set, workload, mesh, { ...OPTIONS, meshBefore: meshConfig() })).toEqual(EQUAL)
})
