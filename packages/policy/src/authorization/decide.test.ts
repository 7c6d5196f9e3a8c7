// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { meshConfig } from "../mesh/config.js"
import { compile, decide, explain } from "../program.js"
import type { Operation, Rule, Source } from "../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy } from "../resources/document.js"
import { responseDetails } from "./decision.js"
import { describeNearMiss } from "./nearest.js"
import { from, matches, to, when } from "./testing/judging.js"
import { type Asked, allow, deny, httpRequest, mesh, policy, tcpConnection, workload } from "./testing/requests.js"

const verdict = (policies: readonly AuthorizationPolicy[], asked: Asked): string =>
  decide(compile(policies, workload, mesh), httpRequest(asked)).verdict

describe("several policies together", () => {
  const everything: Rule = {}
  const allowNothing = policy("nothing", {})
  const ok = policy("ok", { rules: [to({ paths: ["/ok"] })] })
  const admin = deny(to({ paths: ["/allow/admin"] }))
  const wide = allow(to({ paths: ["/allow*"] }))
  const denyAll = deny(everything)
  const audit = policy("audit", { action: "AUDIT" })

  test.each<[string, AuthorizationPolicy[], string, string]>([
    ["no policy allows", [], "/any", "allow"],
    ["ALLOW without rules denies", [allowNothing], "/any", "deny"],
    ["ALLOW with an empty rule allows", [allow(everything)], "/any", "allow"],
    ["another ALLOW policy can allow beside one that allows nothing", [allowNothing, ok], "/ok", "allow"],
    ["what matches no ALLOW rule is denied", [allowNothing, ok], "/no", "deny"],
    ["DENY with an empty rule denies", [denyAll], "/any", "deny"],
    ["no ALLOW overrides a DENY", [denyAll, allow(everything)], "/any", "deny"],
    ["DENY without rules has no effect", [deny()], "/any", "allow"],
    ["AUDIT without rules has no effect", [audit], "/any", "allow"],
    ["DENY wins where both match", [admin, wide], "/allow/admin?x=1", "deny"],
    ["ALLOW counts where DENY does not match", [admin, wide], "/allow", "allow"],
  ])("%s", (_, policies, target, expected) => {
    expect(verdict(policies, { target })).toBe(expected)
  })

  it("selects by namespace and labels", () => {
    const elsewhere = policy("elsewhere", {}, "bar")
    const root = policy("root", { action: "DENY", rules: [to({ paths: ["/global-deny*"] })] }, "merlon-system")
    const other = policy("other", { selector: { matchLabels: { app: "httpbin", foo: "bar" } } })
    const own = policy("own", { selector: { matchLabels: { app: "httpbin" } } })
    const rootSelected = policy("root-own", { selector: { matchLabels: { app: "httpbin" } } }, "merlon-system")
    expect(verdict([elsewhere], {})).toBe("allow")
    expect(verdict([root], { target: "/global-deny/x" })).toBe("deny")
    expect(verdict([other], {})).toBe("allow")
    expect(verdict([own], {})).toBe("deny")
    expect(verdict([rootSelected], {})).toBe("deny")
  })
})

describe("decision vectors", () => {
  test.each<[Rule, Asked, boolean]>([
    [to({ paths: ["/public*"] }), { target: "/public/../private" }, false],
    [to({ paths: ["/public*"] }), { target: "/public/%2E%2E/private" }, false],
    [to({ paths: ["/public*"] }), { target: "/public" }, true],
    [to({ paths: ["/public*"] }), { target: "/publicity" }, true],
    [to({ paths: ["/deny*"], notPaths: ["/deny/allow"] }), { target: "/deny" }, true],
    [to({ paths: ["/deny*"], notPaths: ["/deny/allow"] }), { target: "/deny/allow" }, false],
    [to({ hosts: ["*.suffix.a.com"] }), { host: "DENY.SUFFIX.A.COM" }, true],
    [to({ notMethods: ["PUT"] }), { method: "PUT" }, false],
    [to({ notMethods: ["PUT"] }), { method: "GET" }, true],
    [from({ notRequestPrincipals: ["i/s"] }), {}, true],
    [from({ notRequestPrincipals: ["i/s"] }), { claims: { iss: "i", sub: "s" } }, false],
    [
      when("request.auth.claims[nested][key1]", { values: ["valueB"] }),
      { claims: { nested: { key1: ["valueA", "valueB"] } } },
      true,
    ],
  ])("%j of %j: %s", (rule, asked, expected) => {
    expect(matches(rule, asked)).toBe(expected)
  })
})

describe("the boolean structure of a rule", () => {
  const source = { principals: ["cluster.local/ns/foo/sa/a"], ipBlocks: ["10.0.0.0/8"] }
  const peer = "cluster.local/ns/foo/sa/a"

  it("ands the fields of a source and ors its values", () => {
    expect(matches(from(source), { peer, from: "10.1.1.1" })).toBe(true)
    expect(matches(from(source), { peer, from: "11.1.1.1" })).toBe(false)
    expect(matches(from({ principals: ["x", peer] }), { peer })).toBe(true)
  })

  it("ors the alternatives of from and to, and ands from, to and when", () => {
    const rule: Rule = {
      from: [{ source: { principals: ["x"] } }, { source: { principals: [peer] } }],
      to: [{ operation: { methods: ["PUT"] } }, { operation: { paths: ["/a"] } }],
      when: [
        { key: "destination.port", values: ["8080"] },
        { key: "request.headers[x-tier]", values: ["gold"] },
      ],
    }
    const headers = { "x-tier": ["gold"] }
    expect(matches(rule, { peer, target: "/a", headers })).toBe(true)
    expect(matches(rule, { target: "/a", headers })).toBe(false)
    expect(matches(rule, { peer, target: "/b", headers })).toBe(false)
    expect(matches(rule, { peer, target: "/a" })).toBe(false)
  })

  it("requires a match in `values` and none in `notValues` of one condition", () => {
    const rule = when("request.headers[x]", { values: ["v*"], notValues: ["v2"] })
    expect(matches(rule, { headers: { x: ["v1"] } })).toBe(true)
    expect(matches(rule, { headers: { x: ["v2"] } })).toBe(false)
    expect(matches(rule, { headers: { x: ["v1", "v2"] } })).toBe(false)
  })

  it("is found among many by any of its alternatives, even if they read different attributes", () => {
    const rules = Array.from(
      { length: 50 },
      (_, n): Rule => ({
        from: [{ source: { principals: [`cluster.local/ns/foo/sa/s${n}`] } }, { source: { namespaces: [`ns-${n}`] } }],
      }),
    )
    const found = (peer: string) => decide(compile([deny(...rules)], workload, mesh), httpRequest({ peer })).rule?.rule
    expect(found("cluster.local/ns/foo/sa/s42")).toBe(42)
    expect(found("cluster.local/ns/ns-43/sa/x")).toBe(43)
  })

  it("is found among many by its `not` fields", () => {
    const rules = Array.from({ length: 50 }, (_, n): Rule => to({ notPaths: [`/p${n}`] }))
    const found = (target: string) => decide(compile([deny(...rules)], workload, mesh), httpRequest({ target })).rule
    expect(found("/other")?.rule).toBe(0)
    // Ids are sorted as texts: `rule[10]` comes before `rule[1]`.
    expect(found("/p0")?.rule).toBe(10)
  })

  it("finds one of many alternatives", () => {
    const many: Rule = { from: Array.from({ length: 300 }, (_, n) => ({ source: { namespaces: [`ns-${n}`] } })) }
    expect(matches(many, { peer: "cluster.local/ns/ns-299/sa/x" })).toBe(true)
    expect(matches(many, { peer: "cluster.local/ns/ns-300/sa/x" })).toBe(false)
  })
})

describe("on a TCP connection", () => {
  const decideTcp = (policies: readonly AuthorizationPolicy[], asked: Asked = {}) =>
    decide(compile(policies, workload, mesh), tcpConnection(asked))
  const peer = "cluster.local/ns/foo/sa/a"

  it("judges by connection attributes", () => {
    const rules = allow({ ...from({ principals: [peer] }), ...to({ ports: ["8080"] }) })
    expect(decideTcp([rules], { peer }).verdict).toBe("allow")
    expect(decideTcp([rules], {}).verdict).toBe("deny")
  })

  it("drops an ALLOW rule with an HTTP field, and still denies unmatched connections", () => {
    const rule: Rule = { to: [{ operation: { methods: ["GET"] } }, { operation: { ports: ["8080"] } }] }
    expect(decideTcp([allow(rule)]).verdict).toBe("deny")
  })

  it("widens a DENY rule by dropping its HTTP fields", () => {
    expect(decideTcp([deny(to({ paths: ["/admin"] }))]).verdict).toBe("deny")
    const onPort = deny(to({ paths: ["/admin"], ports: ["80"] }))
    expect(decideTcp([onPort], { port: 80 }).verdict).toBe("deny")
    expect(decideTcp([onPort], { port: 81 }).verdict).toBe("allow")
    expect(decideTcp([deny(when("request.auth.claims[a]", { notValues: ["b"] }))]).verdict).toBe("deny")
  })
})

describe("the evidence", () => {
  const peer = "cluster.local/ns/foo/sa/a"
  const asked = { peer, target: "/admin", claims: { iss: "i", sub: "s", groups: ["g2"] } }
  const rules: Rule[] = [
    to({ paths: ["/public"], methods: ["PUT"] }),
    { ...from({ principals: [peer] }), ...when("request.auth.claims[groups]", { values: ["g1"] }) },
  ]

  it("names stage, policy and rule", () => {
    const program = compile([deny(to({ paths: ["/x"] }), to({ paths: ["/admin"] }))], workload, mesh)
    const decision = decide(program, httpRequest(asked))
    expect(decision).toMatchObject({ verdict: "deny", stage: "deny", policy: { namespace: "foo", name: "deny" } })
    expect(decision.rule).toMatchObject({ rule: 1, id: "ns[foo]-policy[deny]-rule[1]" })
    expect(responseDetails(decision)).toBe("rbac_access_denied_matched_policy[ns[foo]-policy[deny]-rule[1]]")
  })

  it("reports the smallest matching rule id, whatever the order of policies", () => {
    const b = policy("b", { action: "DENY", rules: [{}] })
    const a = policy("a", { action: "DENY", rules: [to({ paths: ["/no"] }), {}] })
    const decision = decide(compile([b, a], workload, mesh), httpRequest())
    expect(decision.rule?.id).toBe("ns[foo]-policy[a]-rule[1]")
  })

  it("names for an ALLOW miss the nearest rule and its first failing condition", () => {
    const decision = decide(compile([allow(...rules)], workload, mesh), httpRequest(asked))
    expect(responseDetails(decision)).toBe("rbac_access_denied_matched_policy[none]")
    expect(decision.nearest).toEqual({
      rule: { policy: { namespace: "foo", name: "allow" }, rule: 1, id: "ns[foo]-policy[allow]-rule[1]" },
      failed: {
        field: "when[0].values",
        attribute: "request.auth.claims[groups]",
        negated: false,
        values: ["g1"],
        actual: '["g2"]',
      },
    })
    expect(decision.nearest && describeNearMiss(decision.nearest)).toBe(
      'nearest rule foo/allow rules[1]: when[0].values wants one of g1, the request has ["g2"]',
    )
    expect(JSON.parse(JSON.stringify(decision)).nearest.rule.rule).toBe(1)
  })

  it("names the policy that allows nothing if it has no rule", () => {
    const decision = decide(compile([policy("nothing", {})], workload, mesh), httpRequest())
    expect([decision.policy?.name, decision.nearest]).toEqual(["nothing", undefined])
  })

  it("finds the nearest rule among those that share a value with the request", () => {
    const many = Array.from(
      { length: 400 },
      (_, n): Rule => ({
        ...from({ principals: [`cluster.local/ns/foo/sa/s${n}`] }),
        ...to({ paths: [`/p${n}`], methods: ["GET"] }),
      }),
    )
    const program = compile([allow(...many)], workload, mesh)
    const decision = decide(program, httpRequest({ peer: "cluster.local/ns/foo/sa/s399", target: "/other" }))
    expect(decision.nearest?.rule.rule).toBe(399)
    expect(decision.nearest?.failed.field).toBe("to[0].operation.paths")
  })

  it("marks and allows requests that an AUDIT rule matches", () => {
    const audit = policy("audit", { action: "AUDIT", rules: [to({ paths: ["/admin"] })] })
    const decision = decide(compile([audit], workload, mesh), httpRequest(asked))
    expect([decision.verdict, decision.audit?.id]).toEqual(["allow", "ns[foo]-policy[audit]-rule[0]"])
  })

  it("traces every field of every rule", () => {
    const trace = explain(compile([allow(...rules), deny(to({ paths: ["/x"] }))], workload, mesh), httpRequest(asked))
    expect(trace.policies.map(({ action, matched }) => [action, matched])).toEqual([
      ["DENY", false],
      ["ALLOW", false],
    ])
    const [, second] = trace.policies[1]?.rules ?? []
    expect(second?.from[0]?.criteria[0]).toMatchObject({
      field: "from[0].source.principals",
      actual: peer,
      holds: true,
    })
    expect(second?.when).toMatchObject({ holds: false })
  })
})

describe("a shadow policy", () => {
  const denyAll = { action: "DENY", rules: [{}] } as const

  test.each<[string, AuthorizationPolicy]>([
    ["by its enforcement", policy("p", { ...denyAll, enforcement: "Shadow" })],
    ["by annotation", annotated("true")],
    ["by annotation T", annotated("T")],
  ])("never changes the outcome and says what it would do (%s)", (_, shadow) => {
    const decision = decide(compile([shadow], workload, mesh), httpRequest())
    expect([decision.verdict, decision.stage]).toEqual(["allow", "default"])
    expect(decision.shadow).toMatchObject({ verdict: "deny", rule: { id: "ns[foo]-policy[p]-rule[0]" } })
  })

  it("is enforced if the annotation is false", () => {
    expect(decide(compile([annotated("false")], workload, mesh), httpRequest()).verdict).toBe("deny")
  })

  it("does not count as an ALLOW policy", () => {
    const decision = decide(compile([policy("p", { enforcement: "Shadow" })], workload, mesh), httpRequest())
    expect([decision.verdict, decision.shadow?.verdict]).toEqual(["allow", "deny"])
  })

  it("is judged together with the enforced ones", () => {
    const shadow = policy("s", { enforcement: "Shadow", rules: [to({ paths: ["/new"] })] })
    const decision = decide(compile([policy("e", {}), shadow], workload, mesh), httpRequest({ target: "/new" }))
    expect([decision.verdict, decision.shadow?.verdict]).toEqual(["deny", "allow"])
  })

  function annotated(value: string): AuthorizationPolicy {
    const document = policy("p", denyAll)
    return { ...document, metadata: { ...document.metadata, annotations: { "merlon.dev/dry-run": value } } }
  }
})

it("matches a principal of the mesh under each of its trust domains", () => {
  const aliased = meshConfig({ trustDomain: "new.td", trustDomainAliases: ["old.td"] })
  const program = compile([allow(from({ principals: ["old.td/ns/foo/sa/a"] }))], workload, aliased)
  const of = (peer: string) => decide(program, httpRequest({ peer })).verdict
  expect(["new.td", "old.td", "other.td"].map(td => of(`${td}/ns/foo/sa/a`))).toEqual(["allow", "allow", "deny"])
})

it("throws on invalid documents", () => {
  const unreadable: Rule[] = [
    when("no.such.key", { values: ["x"] }),
    when("source.ip", { values: ["not-an-address"] }),
    when("source.ip", {}),
    to({ paths: ["foo/{*}"] }),
    from({ names: ["x"] } as Source),
    to({ notnMethods: ["GET"] } as Operation),
    to({ constructor: ["GET"] } as unknown as Operation),
  ]
  for (const rule of unreadable) expect(() => compile([allow(rule)], workload, mesh)).toThrow(RangeError)
  const other = policy("other", { action: "OTHER" as "DENY", rules: [{}] })
  expect(() => compile([other], workload, mesh)).toThrow("unknown action `OTHER` of foo/other")
})
