// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { policies, requests } from "../authorization/testing/arbitraries.js"
import { policy } from "../authorization/testing/requests.js"
import { meshConfig } from "../mesh/config.js"
import { compile, decide } from "../program.js"
import type { AuthorizationPolicySpec, Rule } from "../resources/authorization-policy/definition.js"
import type {
  AuthorizationPolicy,
  PeerAuthentication,
  PolicyDocument,
  PolicyInvariant,
  RequestAuthentication,
} from "../resources/document.js"
import type { PeerAuthenticationSpec } from "../resources/peer-authentication/definition.js"
import type { JwtRule } from "../resources/request-authentication/definition.js"
import { analyze } from "./analyze.js"

const mesh = meshConfig()
const apiVersion = "security.merlon.dev/v1alpha3"
const meta = (name: string, namespace: string, second = 0) => ({
  name,
  namespace,
  creationTimestamp: `2026-01-01T00:00:0${second}Z`,
})
const jwt = (rule: Partial<JwtRule> = {}, namespace = "foo"): RequestAuthentication => ({
  apiVersion,
  kind: "RequestAuthentication",
  metadata: meta("jwt", namespace),
  spec: { jwtRules: [{ issuer: "https://issuer.example", ...rule }] },
})
const anyIssuer: RequestAuthentication = { ...jwt(), spec: { jwtRules: [{ jwksUri: "https://issuer.example/keys" }] } }
const peers = (name: string, spec: PeerAuthenticationSpec, second: number, namespace = "foo"): PeerAuthentication => ({
  apiVersion,
  kind: "PeerAuthentication",
  metadata: meta(name, namespace, second),
  spec,
})
const allow = (...rules: Rule[]) => policy("allow", { rules })
const deny = (...rules: Rule[]) => policy("deny", { action: "DENY", rules })
const never = (rule: Rule): PolicyInvariant => ({
  apiVersion,
  kind: "PolicyInvariant",
  metadata: meta("never", "foo"),
  spec: { never: [{ name: "closed", ...rule }] },
})
const workloads = [
  { namespace: "foo", name: "httpbin-1", labels: { app: "httpbin" }, ports: [8080] },
  { namespace: "bar", name: "web-1", labels: { app: "web" }, ports: [80] },
]
/** Selected only by its own tests. */
const dns = { namespace: "foo", name: "dns-1", labels: { app: "dns" }, ports: [53], udpPorts: [53] }

const found = (documents: readonly PolicyDocument[]) =>
  analyze(documents, mesh, JSON.stringify(documents).includes("dns") ? [...workloads, dns] : workloads).map(
    ({ code, name, path }) => `${code} ${name} ${path}`.trim(),
  )

const principals = (...values: string[]) => ({ source: { principals: values } })
const peer = "cluster.local/ns/foo/sa/a"

describe("analyze finds", () => {
  test.each<[string, PolicyDocument[], string[]]>([
    [
      "what a `not` field takes away",
      [allow({ from: [{ source: { principals: [peer], notPrincipals: ["cluster.local/ns/foo/*"] } }] })],
      ["rule-never-matches allow spec.rules[0].from[0]"],
    ],
    [
      "fields that want different values of one attribute",
      [allow({ from: [principals(peer)], when: [{ key: "source.principal", values: ["cluster.local/ns/x/sa/y"] }] })],
      ["rule-never-matches allow spec.rules[0].from[0]"],
    ],
    [
      "an address outside the block another condition wants",
      [
        allow({
          when: [
            { key: "source.ip", values: ["10.0.0.0/8"] },
            { key: "source.ip", values: ["192.168.1.1"] },
          ],
        }),
      ],
      ["rule-never-matches allow spec.rules[0].when"],
    ],
    [
      "a path that normalisation never leaves",
      [allow({ to: [{ operation: { paths: ["/a/../b"] } }] })],
      ["rule-never-matches allow spec.rules[0].to[0]"],
    ],
    [
      "a prefix that normalisation never leaves",
      [allow({ to: [{ operation: { paths: ["/a/../b*"] } }] })],
      ["rule-never-matches allow spec.rules[0].to[0]"],
    ],
    [
      "a `never` that no request can match",
      [never({ to: [{ operation: { paths: ["/a/../b*"] } }] })],
      [
        "invariant-holds-vacuously never spec.never[0].to[0]",
        "closed-by-one-spelling never spec.never[0].to[0].operation.paths",
      ],
    ],
    [
      "UDP ports that an ALLOW policy does not judge",
      [
        policy("allow", {
          selector: { matchLabels: { app: "dns" } },
          rules: [{ to: [{ operation: { ports: ["53"] } }] }],
        }),
      ],
      ["udp-not-judged allow spec"],
    ],
    [
      "UDP ports that STRICT does not judge",
      [peers("strict", { selector: { matchLabels: { app: "dns" } }, mtls: { mode: "STRICT" } }, 0)],
      ["udp-not-judged strict spec"],
    ],
    [
      "no UDP ports where a DENY policy selects them",
      [policy("deny", { action: "DENY", selector: { matchLabels: { app: "dns" } }, rules: [{}] })],
      [],
    ],
    [
      "a path with a query",
      [allow({ to: [{ operation: { paths: ["/a?b=c"] } }] })],
      ["rule-never-matches allow spec.rules[0].to[0]"],
    ],
    [
      "a Service's port in place of the workload's",
      [allow({ to: [{ operation: { ports: ["8000"] } }] })],
      ["rule-never-matches allow spec.rules[0].to[0]"],
    ],
    [
      "a rule that a DENY rule takes everything from",
      [
        allow({ to: [{ operation: { paths: ["/admin/x"], ports: ["8080"] } }] }),
        deny({ to: [{ operation: { paths: ["/admin*"], ports: ["8080"] } }] }),
      ],
      ["shadowed-by-deny allow spec.rules[0]"],
    ],
    [
      "a rule within another",
      [
        allow(
          { to: [{ operation: { paths: ["/a*"] } }] },
          { to: [{ operation: { paths: ["/a/b"], methods: ["GET"] } }] },
        ),
      ],
      ["redundant-rule allow spec.rules[1]"],
    ],
    [
      "the later of two equal rules",
      [allow({ from: [principals(peer)] }, { from: [principals(peer)] })],
      ["redundant-rule allow spec.rules[1]"],
    ],
    [
      "a selector that selects nothing",
      [policy("typo", { selector: { matchLabels: { app: "htpbin" } }, rules: [{}] })],
      ["selector-selects-nothing typo spec.selector.matchLabels"],
    ],
    [
      "a Service that leads nowhere",
      [policy("typo", { targetRefs: [{ kind: "Service", name: "htpbin" }], rules: [{}] })],
      ["target-leads-nowhere typo spec.targetRefs"],
    ],
    [
      "a rule that needs a token where none is verified",
      [allow({ from: [{ source: { requestPrincipals: ["*"] } }] })],
      ["no-token-possible allow spec.rules[0].from[0].source.requestPrincipals"],
    ],
    [
      "the same where tokens are verified elsewhere only",
      [jwt({}, "bar"), allow({ when: [{ key: "request.auth.claims[groups]", values: ["g"] }] })],
      ["no-token-possible allow spec.rules[0].when[0].values", "token-not-required jwt spec.jwtRules"],
    ],
    [
      "an issuer nobody configures",
      [jwt(), allow({ from: [{ source: { requestPrincipals: ["https://issuer.exmple/alice"] } }] })],
      ["unknown-issuer allow spec.rules[0].from[0].source.requestPrincipals"],
    ],
    [
      "a foreign trust domain",
      [allow({ from: [principals("other.td/ns/foo/sa/a")] })],
      ["unknown-trust-domain allow spec.rules[0].from[0].source.principals"],
    ],
    [
      "a `not` field that admits callers without identity",
      [allow({ from: [{ source: { notPrincipals: [peer] } }] })],
      ["admits-anonymous allow spec.rules[0].from[0].source.notPrincipals"],
    ],
    [
      "a `not` field that admits callers without token",
      [jwt(), allow({ from: [principals("*")], when: [{ key: "request.auth.claims[role]", notValues: ["guest"] }] })],
      ["admits-anonymous allow spec.rules[0].when[0].notValues"],
    ],
    [
      "a DENY rule that widens on TCP",
      [deny({ to: [{ operation: { paths: ["/1*"] } }] })],
      ["deny-widens-on-tcp deny spec.rules[0]"],
    ],
    [
      "a DENY rule one alternative of which widens on TCP",
      [deny({ to: [{ operation: { ports: ["8080"], paths: ["/1*"] } }, { operation: { paths: ["/2*"] } }] })],
      ["deny-widens-on-tcp deny spec.rules[0]"],
    ],
    [
      "a host without port",
      [allow({ to: [{ operation: { hosts: ["a.example"] } }] })],
      ["host-without-port allow spec.rules[0].to[0].operation.hosts"],
    ],
    [
      "a rule cut in two by a dash",
      [allow({ from: [principals(peer)] }, { to: [{ operation: { methods: ["GET"] } }] })],
      ["stray-dash allow spec.rules[1]"],
    ],
    [
      "a source cut in two by a dash",
      [allow({ from: [principals(peer), { source: { ipBlocks: ["10.0.0.0/8"] } }] })],
      ["either-is-enough allow spec.rules[0].from[1]"],
    ],
    [
      "a PeerAuthentication behind an older one",
      [peers("old", { mtls: { mode: "STRICT" } }, 1), peers("new", { mtls: { mode: "PERMISSIVE" } }, 2)],
      ["superseded new"],
    ],
    [
      "a selector in the root namespace",
      [peers("root", { selector: { matchLabels: { app: "httpbin" } } }, 1, "merlon-system")],
      ["ignored-selector root spec.selector"],
    ],
    ["a policy that allows nothing", [policy("nothing", {})], ["allows-nothing nothing spec"]],
    ["tokens that nobody requires", [jwt()], ["token-not-required jwt spec.jwtRules"]],
  ])("%s", (_, documents, expected) => {
    expect(found(documents)).toEqual(expected)
  })
})

it("advises nothing in policies of Istio that only Merlon has, and takes every port for served", () => {
  const istio = { ...mesh, dialect: "istio" } as const
  const documents = [
    jwt({ presence: "REQUIRED" }),
    policy("open", {
      selector: { matchLabels: { app: "dns" } },
      rules: [{ to: [{ operation: { ports: ["9090"] } }] }],
    }),
  ]
  const findings = analyze(documents, istio, [...workloads, dns])
  expect(findings.map(({ code, fix }) => [code, fix])).toEqual([
    ["token-not-required", "add an AuthorizationPolicy with `requestPrincipals`"],
    ["udp-not-judged", "restrict it with a NetworkPolicy"],
  ])
})

describe("analyze is silent about", () => {
  const spec: AuthorizationPolicySpec = {
    rules: [{ from: [{ source: { requestPrincipals: ["https://issuer.example/*"] } }] }],
  }
  test.each<[string, PolicyDocument[]]>([
    ["an issuer whose tokens are required", [jwt(), policy("p", spec)]],
    [
      "a rule without issuer, which takes any",
      [anyIssuer, policy("p", { rules: [{ from: [{ source: { requestPrincipals: ["x/y"] } }] }] })],
    ],
    ["a required token", [jwt({ presence: "REQUIRED" })]],
    ["those without an identity, and them alone", [allow({ from: [{ source: { notPrincipals: ["*"] } }] })]],
    ["those without a token, and them alone", [jwt(), allow({ from: [{ source: { notRequestPrincipals: ["*"] } }] })]],
    ["the idiom that denies plaintext", [deny({ from: [{ source: { notPrincipals: ["*"] } }] })]],
    ["a host with any port beside it", [allow({ to: [{ operation: { hosts: ["a.example", "a.example:*"] } }] })]],
    ["a DENY rule that names its port", [deny({ to: [{ operation: { paths: ["/1*"], ports: ["8080"] } }] })]],
    [
      "a claim that may hold both values",
      [
        jwt(),
        allow({
          from: [{ source: { requestPrincipals: ["*"] } }],
          when: ["a", "b"].map(value => ({ key: "request.auth.claims[groups]", values: [value] })),
        }),
      ],
    ],
    [
      "PeerAuthentications of different scopes",
      [peers("ns", {}, 1), peers("w", { selector: { matchLabels: { app: "httpbin" } } }, 2)],
    ],
    [
      "rules for different callers",
      [
        allow(
          { from: [principals(peer)] },
          { from: [principals("cluster.local/ns/foo/sa/b")], to: [{ operation: { methods: ["GET"] } }] },
        ),
      ],
    ],
  ])("%s", (_, documents) => {
    expect(found(documents)).toEqual([])
  })
})

it("says where, why and how to fix it, worst first", () => {
  const findings = analyze(
    [
      policy("typo", {
        selector: { matchLabels: { app: "htpbin" } },
        rules: [{ from: [{ source: { requestPrincipals: ["*"] } }] }],
      }),
    ],
    mesh,
    workloads,
  )
  expect(findings.map(({ severity }) => severity)).toEqual(["error", "warning"])
  expect(findings[1]).toMatchObject({
    kind: "AuthorizationPolicy",
    namespace: "foo",
    why: "no workload in `foo` has the labels `app=htpbin`",
    fix: "the nearest workload has `app=httpbin` (`foo/httpbin-1`)",
  })
})

it("leaves out what it cannot know without workloads", () => {
  const typo = policy("typo", { selector: { matchLabels: { app: "htpbin" } }, rules: [{}] })
  expect(analyze([typo], mesh)).toEqual([])
})

it("has bounded work on sets too large to compare", () => {
  const rules = Array.from({ length: 500 }, (_, n): Rule => ({ to: [{ operation: { paths: [`/p${n}`] } }] }))
  const many = Array.from({ length: 6 }, (_, n) => policy(`p${n}`, { rules }, `ns-${n}`))
  expect(analyze(many, mesh).some(({ code }) => code === "analysis-limited")).toBe(true)
})

const RULE = /^spec\.rules\[(\d+)\](\.when)?$/

it("has bounded work on lists too long to compare", () => {
  const names = (letter: string) => Array.from({ length: 3_000 }, (_, n) => `cluster.local/ns/foo/sa/${letter}${n}`)
  const apart: Rule = {
    from: [{ source: { principals: names("a") } }],
    when: [{ key: "source.principal", values: names("b") }],
  }
  expect(analyze([allow(apart)], mesh).map(({ code }) => code)).toContain("analysis-limited")
  const same = policy("same", { rules: [apart, apart].map(({ from = [] }) => ({ from })) })
  expect(analyze([same], mesh).map(({ code }) => code)).toContain("analysis-limited")
})

it("looks for what was meant among few issuers only, and names a few", () => {
  const issuers = Array.from({ length: 4_000 }, (_, n) => ({
    issuer: `https://issuer-of-a-large-company-${n}.example`,
  }))
  const principals = Array.from({ length: 4_000 }, (_, n) => `https://nobody-anywhere-knows-this-one-${n}.test/*`)
  const many: RequestAuthentication = { ...jwt(), spec: { jwtRules: issuers } }
  const found = analyze([many, allow({ from: [{ source: { requestPrincipals: principals } }] })], mesh)
  const unknown = found.filter(({ code }) => code === "unknown-issuer")
  expect(unknown.length).toBe(4_000)
  expect(unknown[0]?.fix.length).toBeLessThan(300)
})

it("compares PeerAuthentications with their neighbours only", () => {
  const spread = Array.from({ length: 3_000 }, (_, n) =>
    peers(`p${n}`, { selector: { matchLabels: { app: `a${n}` } } }, 0, `ns-${n % 300}`),
  )
  expect(analyze(spread, mesh)).toEqual([])
})

it.each([
  [["iss"], ["iss/", "*"]],
  [["i/*"], ["i/a/b"]],
])("does not call principals %j and %j apart: a token can match both", (some, others) => {
  const both = [some, others].map(values => ({ key: "request.auth.principal", values }))
  expect(analyze([allow({ when: both })], mesh).map(({ code }) => code)).not.toContain("rule-never-matches")
})

it("never reports a rule as dead if its removal changes a verdict", () => {
  const workload = { namespace: "foo", name: "w", labels: {} }
  const dead = new Map<string, number>()
  fc.assert(
    fc.property(
      policies,
      fc.array(requests, { minLength: 10, maxLength: 10 }),
      fc.nat(),
      (documents, attributes, at) => {
        const program = compile(documents, workload, mesh)
        const findings = analyze(documents, mesh)
        // One finding of each kind, because each one costs compiling the set again.
        for (const wanted of ["rule-never-matches", "shadowed-by-deny", "redundant-rule"]) {
          const about = findings.filter(({ code, path }) => code === wanted && RULE.test(path))
          const { code, name, path } = about[at % about.length] ?? {}
          const rule = RULE.exec(path ?? "")?.[1]
          if (code === undefined || name === undefined || rule === undefined) continue
          dead.set(code, (dead.get(code) ?? 0) + 1)
          const without = compile(
            documents.map(document => withoutRule(document, name, Number(rule))),
            workload,
            mesh,
          )
          for (const request of attributes) {
            if (request.http === undefined) continue
            const [before, after] = [decide(program, request), decide(without, request)]
            expect([after.verdict, after.shadow?.verdict]).toEqual([before.verdict, before.shadow?.verdict])
          }
        }
      },
    ),
    { numRuns: 80 * inject("effort"), interruptAfterTimeLimit: 15_000 * inject("effort") },
  )
  expect([...dead.keys()].sort()).toEqual(["redundant-rule", "rule-never-matches", "shadowed-by-deny"])
})

function withoutRule(document: AuthorizationPolicy, name: string, index: number): AuthorizationPolicy {
  if (document.metadata.name !== name) return document
  return { ...document, spec: { ...document.spec, rules: (document.spec.rules ?? []).filter((_, at) => at !== index) } }
}
