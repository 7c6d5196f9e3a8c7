// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { meshConfig } from "../../mesh/config.js"
import type { AuthorizationPolicySpec } from "../../resources/authorization-policy/definition.js"
import type {
  AuthorizationPolicy,
  PeerAuthentication,
  PolicyDocument,
  PolicyInvariant,
  RequestAuthentication,
} from "../../resources/document.js"
import type { PolicyInvariantSpec } from "../../resources/policy-invariant/definition.js"
import { checkInvariants } from "./invariants.js"

const mesh = meshConfig()
const apiVersion = "security.merlon.dev/v1alpha3"
const metadata = (name: string, namespace = "foo") => ({ name, namespace, creationTimestamp: "2026-01-01T00:00:00Z" })
const web = { namespace: "foo", name: "web", labels: { app: "web" } }
const api = { namespace: "bar", name: "api", labels: { app: "api" } }

const invariant = (spec: PolicyInvariantSpec, namespace = "foo"): PolicyInvariant => ({
  apiVersion,
  kind: "PolicyInvariant",
  metadata: metadata("admin", namespace),
  spec,
})
const policy = (spec: AuthorizationPolicySpec, name = "p", namespace = "foo"): AuthorizationPolicy => ({
  apiVersion,
  kind: "AuthorizationPolicy",
  metadata: metadata(name, namespace),
  spec,
})
const strict: PeerAuthentication = {
  apiVersion,
  kind: "PeerAuthentication",
  metadata: metadata("m"),
  spec: { mtls: { mode: "STRICT" } },
}
const tokens = (presence: "REQUIRED" | "OPTIONAL"): RequestAuthentication => ({
  apiVersion,
  kind: "RequestAuthentication",
  metadata: metadata("jwt"),
  spec: { jwtRules: [{ issuer: "iss", jwksUri: "https://iss/keys", presence }] },
})
const verdicts = (spec: PolicyInvariantSpec, documents: readonly PolicyDocument[], limits = { steps: 1_000_000 }) =>
  checkInvariants([invariant(spec)], documents, [web], mesh, { now: 1_000, limits }).map(({ result }) => result)

const admin = [{ operation: { paths: ["/admin/*"] } }]
const notOps: PolicyInvariantSpec = {
  never: [{ name: "only ops", from: [{ source: { notNamespaces: ["ops"] } }], to: admin }],
}
const health: PolicyInvariantSpec = {
  always: [
    {
      name: "health",
      from: [{ source: { principals: ["cluster.local/ns/app/sa/consumer"] } }],
      to: [{ operation: { methods: ["GET"], paths: ["/health"] } }],
    },
  ],
}
const opsOnly = policy({
  rules: [
    { from: [{ source: { namespaces: ["ops"] } }] },
    { to: [{ operation: { paths: ["/public/*", "/health"] } }] },
  ],
})

describe("`never` holds", () => {
  test.each<[string, readonly PolicyDocument[], "holds" | "broken"]>([
    ["not where nothing is said", [], "broken"],
    ["where only ops is allowed there", [opsOnly], "holds"],
    [
      "where everybody else is denied there",
      [policy({ action: "DENY", rules: [{ from: [{ source: { notNamespaces: ["ops"] } }], to: admin }] })],
      "holds",
    ],
    [
      "not where a rule of another policy lets one in",
      [opsOnly, policy({ rules: [{ to: [{ operation: { paths: ["/admin/x"] } }] }] }, "q")],
      "broken",
    ],
    [
      "where that rule is in shadow",
      [opsOnly, policy({ enforcement: "Shadow", rules: [{ to: [{ operation: { paths: ["/admin/x"] } }] }] }, "q")],
      "holds",
    ],
  ])("%s", (_, documents, expected) => {
    expect(verdicts(notOps, documents).map(({ verdict }) => verdict)).toEqual([expected])
  })

  it("for headers beyond ASCII, with the text that a person writes", () => {
    const key = "request.headers[x-user]"
    const closed: PolicyInvariantSpec = { never: [{ name: "no Zoë", when: [{ key, values: ["Zoë"] }] }] }
    const deny = (value: string) => policy({ action: "DENY", rules: [{ when: [{ key, values: [value] }] }] })
    expect(verdicts(closed, [deny("Zo*")])).toMatchObject([{ verdict: "holds" }])
    expect(verdicts(closed, [deny("Zoé")])).toMatchObject([
      { verdict: "broken", witness: { headers: { "x-user": ["Zoë"] } } },
    ])
  })

  it("for paths that no request can have", () => {
    const closed: PolicyInvariantSpec = { never: [{ name: "no ä", to: [{ operation: { paths: ["/ä*"] } }] }] }
    expect(verdicts(closed, [])).toMatchObject([{ verdict: "holds" }])
  })

  it("or else shows the request and the rule that allows it", () => {
    const open = policy({ rules: [{}, { to: [{ operation: { paths: ["/admin/x"] } }] }] }, "q")
    const [result] = verdicts(notOps, [opsOnly, open])
    expect(result).toMatchObject({ verdict: "broken", outcome: "allow", by: { policy: { name: "q" }, rule: 0 } })
    expect(result).toHaveProperty("witness.path", "/admin/")
  })
})

describe("`always` holds", () => {
  test.each<[string, readonly PolicyDocument[], "holds" | "broken"]>([
    ["where nothing is said", [], "holds"],
    ["where a rule lets every such request through", [opsOnly], "holds"],
    ["under STRICT, since the caller has an identity", [opsOnly, strict], "holds"],
    [
      "not where a DENY takes some of them",
      [opsOnly, policy({ action: "DENY", rules: [{ from: [{ source: { ipBlocks: ["10.0.0.0/8"] } }] }] }, "d")],
      "broken",
    ],
    ["where tokens are optional, since a bad one is rejected anyway", [opsOnly, tokens("OPTIONAL")], "holds"],
    ["not where a token is required", [opsOnly, tokens("REQUIRED")], "broken"],
    [
      "not where a rule wants more than the invariant says",
      [policy({ rules: [{ when: [{ key: "request.headers[x-v]", values: ["1"] }] }] })],
      "broken",
    ],
  ])("%s", (_, documents, expected) => {
    expect(verdicts(health, documents).map(({ verdict }) => verdict)).toEqual([expected])
  })

  it("not if the mode closes the connection, and reports it", () => {
    const anybody: PolicyInvariantSpec = { always: [{ name: "all", to: [{ operation: { paths: ["/health"] } }] }] }
    expect(verdicts(anybody, [strict])).toMatchObject([{ verdict: "broken", outcome: "transport" }])
  })
})

it("applies to the workloads it selects, and in the root namespace to the mesh", () => {
  const about = (spec: PolicyInvariantSpec, namespace: string) =>
    checkInvariants([invariant(spec, namespace)], [], [web, api], mesh, { now: 1_000 }).flatMap(({ workloads }) =>
      workloads.map(({ name }) => name),
    )
  expect(about(notOps, "foo")).toEqual(["web"])
  expect(about(notOps, "merlon-system")).toEqual(["web", "api"])
  expect(about({ ...notOps, selector: { matchLabels: { app: "api" } } }, "merlon-system")).toEqual(["api"])
  expect(about({ ...notOps, selector: { matchLabels: { app: "api" } } }, "foo")).toEqual([])
})

it("is undecided if the budget is too small or a condition is not modelled", () => {
  expect(verdicts(notOps, [opsOnly], { steps: 3 })).toMatchObject([{ verdict: "undecided" }])
  const byTime = policy({ rules: [{ when: [{ key: "request.auth.claims[exp]", values: ["5*"] }], to: admin }] })
  expect(verdicts(notOps, [byTime, tokens("OPTIONAL")])).toMatchObject([{ verdict: "undecided" }])
})

describe("a condition that the search does not model", () => {
  const admin = [{ key: "request.headers[:path]", values: ["/admin"] }]
  const never: PolicyInvariantSpec = { never: [{ name: "no admin", when: admin }] }

  it("breaks no invariant with a request that the invariant is not about", () => {
    const more = [{ key: "request.headers[:path]", values: ["/admin", "/staff"] }]
    expect(verdicts(never, [policy({ action: "DENY", rules: [{ when: more }] })])).toMatchObject([
      { verdict: "undecided" },
    ])
  })

  it("breaks an invariant with a request that the invariant is about", () => {
    const root = [{ key: "request.headers[:path]", values: ["/"] }]
    expect(verdicts({ never: [{ name: "root", when: root }] }, [])).toMatchObject([{ verdict: "broken" }])
  })
})
