// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { httpRequest, policy } from "../../authorization/testing/requests.js"
import { meshConfig, type PathNormalization } from "../../mesh/config.js"
import { compile, decide } from "../../program.js"
import type { AuthorizationPolicySpec, Operation, Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyInvariant } from "../../resources/document.js"
import { analyze } from "../analyze.js"

const mesh = meshConfig()
const ports = ["8080"]
const to = (...operations: Operation[]): Rule => ({ to: operations.map(one => ({ operation: { ports, ...one } })) })
const deny = (...rules: Rule[]) => policy("deny", { action: "DENY", rules })
const allow = (spec: AuthorizationPolicySpec) => policy("allow", spec)
const spellings = (documents: readonly AuthorizationPolicy[]) =>
  analyze(documents, mesh).filter(({ code }) => code === "closed-by-one-spelling")

describe("a path is closed under one spelling alone", () => {
  test.each<[string, AuthorizationPolicy[], string]>([
    ["by a DENY", [deny(to({ paths: ["/admin"] }))], "GET /admin/"],
    ["by a DENY that ends in a slash", [deny(to({ paths: ["/admin/"] }))], "GET /admin"],
    ["by a DENY on one method", [deny(to({ methods: ["POST"], paths: ["/a/b"] }))], "POST /a/b/"],
    ["by an ALLOW on all but it", [allow({ rules: [to({ notPaths: ["/admin"] })] })], "GET /admin/"],
    ["beside a DENY of others", [deny(to({ paths: ["/a"] }), to({ paths: ["/2*"] }))], "GET /a/"],
    [
      "beside a DENY for others",
      [deny(to({ paths: ["/1"] }), { from: [{ source: { namespaces: ["x"] } }], ...to({ paths: ["/1*"] }) })],
      "GET /1/",
    ],
    ["beside an ALLOW on it", [deny(to({ paths: ["/a"] })), allow({ rules: [to({ paths: ["/*"] })] })], "GET /a/"],
    [
      "beside an ALLOW of nothing elsewhere",
      [deny(to({ paths: ["/a"] })), allow({ selector: { matchLabels: { app: "x" } } })],
      "GET /a/",
    ],
    ["by a DENY on a host", [deny(to({ hosts: ["a.example"] }))], "Host: a.example:80"],
    ["by a DENY on hosts by their end", [deny(to({ hosts: ["*.example"] }))], "Host: www.example:80"],
    ["by an ALLOW on all hosts but it", [allow({ rules: [to({ notHosts: ["a.example"] })] })], "Host: a.example:80"],
    ["by a prefix, in capitals", [deny(to({ paths: ["/admin*"] }))], "GET /ADMIN"],
    ["by a path and all below it", [deny(to({ paths: ["/1", "/1/*"] }))], "GET /1;x=1"],
    ["by a prefix of two segments", [deny(to({ paths: ["/1/2*"] }))], "GET /1;x=1/2"],
    ["by a path with a parameter", [deny(to({ paths: ["/1", "/1/*", "/1;*"] }))], "GET /1%2f"],
    ["by a template", [deny(to({ paths: ["/1/{**}"] }))], "GET /1;x=1/x"],
    ["by what it ends in", [deny(to({ paths: ["*/1"] }))], "GET /x/1/"],
    ["by capitals in an escape", [deny(to({ paths: ["/%C3%A9*"] }))], "GET /%c3%a9"],
    ["by small letters in an escape", [deny(to({ paths: ["/%c3%A9/*"] }))], "GET /%c3%a9/"],
    [
      "in shadow",
      [policy("deny", { action: "DENY", enforcement: "Shadow", rules: [to({ paths: ["/a"] })] })],
      "GET /a/",
    ],
    [
      "beside a DENY in shadow",
      [
        deny(to({ paths: ["/1"] })),
        policy("wide", { action: "DENY", enforcement: "Shadow", rules: [to({ paths: ["/1*"] })] }),
      ],
      "GET /1/",
    ],
  ])("%s", (_, documents, witness) => {
    expect(spellings(documents).map(({ why }) => why)).toEqual([expect.stringContaining(`\`${witness}\``)])
  })

  it("of a host is reported once, and not again as information", () => {
    const codes = analyze([deny(to({ hosts: ["a.example"] }))], mesh).map(({ code }) => code)
    expect(codes).toEqual(["closed-by-one-spelling"])
  })

  it("reports one finding for a list, with place, reason and fix", () => {
    expect(spellings([deny(to({ paths: ["/1*", "/admin", "/x"] }))])).toMatchObject([
      {
        severity: "warning",
        path: "spec.rules[0].to[0].operation.paths",
        why: "`GET /admin/` does not match the rule, and most applications take it for `/admin`; other spellings that pass: `/admin;x=1`, `/admin%2f`, `/ADMIN`",
        fix: expect.stringMatching(/^write `\/admin\*`;/),
      },
    ])
  })

  it("is true of the witness", () => {
    for (const documents of [[deny(to({ paths: ["/admin"] }))], [allow({ rules: [to({ notPaths: ["/admin"] })] })]]) {
      const program = compile(documents, { namespace: "foo", name: "w", labels: {} }, mesh)
      const targets = ["/admin", "/admin/", "/admin;x=1", "/admin%2f", "/ADMIN", "//admin", "/./admin"]
      const verdicts = targets.map(target => decide(program, httpRequest({ target })).verdict)
      expect(verdicts).toEqual(["deny", "allow", "allow", "allow", "allow", "deny", "deny"])
    }
  })
})

describe("what is open depends on the mesh's normalisation", () => {
  const open = (pathNormalization: PathNormalization, ...paths: string[]) =>
    analyze([deny(to({ paths }))], meshConfig({ pathNormalization }))
      .filter(({ code }) => code === "closed-by-one-spelling")
      .map(({ why }) => why.split("`")[1])

  test.each<[PathNormalization, string, string]>([
    ["NONE", "/1*", "GET //1"],
    ["BASE", "/1*", "GET //1"],
    ["MERGE_SLASHES", "/1/2*", "GET /1;x=1/2"],
  ])("%s with %s: %s", (mode, path, witness) => {
    expect(open(mode, path)).toEqual([witness])
  })

  it("of dots and escaped slashes", () => {
    expect(open("NONE", "/1*", "//1*")).toEqual(["GET /./1"])
    expect(open("MERGE_SLASHES", "/1/2*", "/1;*")).toEqual(["GET /1%2f2"])
    expect(open("DECODE_AND_MERGE_SLASHES", "/1/2*", "/1;*")).toEqual([])
  })
})

describe("nothing is reported about", () => {
  test.each<[string, AuthorizationPolicy[]]>([
    ["a prefix in small letters and capitals", [deny(to({ paths: ["/admin*", "/ADMIN*"] }))]],
    ["a prefix without letters", [deny(to({ paths: ["/1*"] }))]],
    ["a prefix beside it", [deny(to({ paths: ["/1", "/1*"] }))]],
    ["the others in an alternative", [deny(to({ paths: ["/1"] }, { paths: ["/1*"] }))]],
    ["the others in another rule", [deny(to({ paths: ["/1"] }), to({ paths: ["/1*"] }))]],
    [
      "the others in the mesh's",
      [
        deny(to({ paths: ["/1"] })),
        policy("root", { action: "DENY", rules: [to({ paths: ["/1*"] })] }, "merlon-system"),
      ],
    ],
    ["what no ALLOW lets in", [deny(to({ paths: ["/a"] })), allow({ rules: [to({ paths: ["/b*"] })] })]],
    ["what an ALLOW leaves out", [deny(to({ paths: ["/1"] })), allow({ rules: [to({ notPaths: ["/1*"] })] })]],
    ["an ALLOW of nothing", [deny(to({ paths: ["/a"] })), allow({})]],
    ["an ALLOW whose own paths leave it out", [allow({ rules: [to({ paths: ["/a"], notPaths: ["/b"] })] })]],
    ["an ALLOW behind a DENY", [allow({ rules: [to({ notPaths: ["/1"] })] }), deny(to({ paths: ["/1*"] }))]],
    ["an exception to a DENY", [deny(to({ paths: ["/1*"], notPaths: ["/1/open"] }))]],
    ["a host and its ports", [deny(to({ hosts: ["a.example", "a.example:*"] }))]],
    ["a host's beginning", [deny(to({ hosts: ["a.example*"] }))]],
    ["every host", [deny(to({ hosts: ["*"] }))]],
    ["a host with its port", [deny(to({ hosts: ["a.example:8080"] }))]],
    ["an address", [deny(to({ hosts: ["10.0.0.1", "[::1]"] }))]],
    ["an ALLOW on a host", [allow({ rules: [to({ hosts: ["a.example"] })] })]],
    ["a host that no ALLOW lets in", [deny(to({ hosts: ["a.b"] })), allow({ rules: [to({ hosts: ["c.d"] })] })]],
    ["both cases of an escape", [deny(to({ paths: ["/%C3%A9*", "/%c3%a9*"] }))]],
    ["an escape of digits", [deny(to({ paths: ["/%20*"] }))]],
    ["methods of gRPC", [deny(to({ paths: ["/shop.v1.Orders/Delete", "/Greeter/Hello"] }))]],
    ["the root", [deny(to({ paths: ["/"] }))]],
    ["an ALLOW on it", [allow({ rules: [to({ paths: ["/a"] })] })]],
    ["an AUDIT", [policy("audit", { action: "AUDIT", rules: [to({ paths: ["/a"] })] })]],
  ])("%s", (_, documents) => {
    expect(spellings(documents)).toEqual([])
  })
})

it("has bounded work", () => {
  const rules = Array.from({ length: 500 }, (_, n): Rule => to({ paths: [`/p${n}`], notPaths: [`/q${n}`] }))
  const many = Array.from({ length: 6 }, (_, n) => policy(`p${n}`, { action: "DENY", rules }, `ns-${n}`))
  expect(analyze(many, mesh).some(({ code }) => code === "analysis-limited")).toBe(true)
})

describe("an invariant", () => {
  const resultOf = (never: readonly Rule[]) => {
    const spec = { never: never.map(rule => ({ name: "closed", ...rule })) }
    const metadata = { name: "i", namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" }
    const invariant: PolicyInvariant = {
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "PolicyInvariant",
      metadata,
      spec,
    }
    return analyze([invariant], mesh)
  }

  it("skips another spelling that is reported already", () => {
    expect(resultOf([to({ paths: ["/1*"] }), to({ methods: ["PUT"], paths: ["/b", "/admin"] })])).toMatchObject([
      {
        code: "closed-by-one-spelling",
        kind: "PolicyInvariant",
        path: "spec.never[1].to[0].operation.paths",
        why: "`PUT /b/` is outside the rule, and most applications take it for `/b`; other spellings that pass: `/b;x=1`, `/b%2f`, `/B`",
      },
    ])
  })

  test.each<[string, Rule]>([
    ["prefixes", to({ paths: ["/1*"] })],
    ["all spellings", to({ paths: ["/1", "/1*"] })],
    ["the others in an alternative", to({ paths: ["/1"] }, { paths: ["/1*"] })],
    ["what is left out", to({ notPaths: ["/open"] })],
  ])("of %s is fine", (_, rule) => {
    expect(resultOf([rule])).toEqual([])
  })
})
