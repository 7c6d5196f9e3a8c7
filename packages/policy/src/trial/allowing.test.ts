// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { policies } from "../authorization/testing/arbitraries.js"
import { allow, deny, mesh, naming, workload } from "../authorization/testing/requests.js"
import type { Rule } from "../resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../resources/document.js"
import { accountOf, reasonOf } from "./account.js"
import { smallestChange } from "./allowing.js"
import type { DescribedRequest } from "./described-request.js"
import { Trial } from "./trial.js"

const NOW = 1_790_000_000
const ask = (documents: readonly PolicyDocument[], asked: DescribedRequest) => {
  const answer = new Trial(documents, workload, mesh, NOW).ask(asked)
  const change = smallestChange({ documents, workload, mesh, now: NOW, asked }, answer)
  return { answer, change: change?.map(({ at, change, value }) => `${change} ${value} at ${at}`) }
}
const get: Rule = { to: [{ operation: { methods: ["GET"], paths: ["/a"] } }] }
const inside: Rule = { from: [{ source: { namespaces: ["foo"] } }], to: [{ operation: { notPaths: ["/b"] } }] }
const from = "cluster.local/ns/foo/sa/a"

describe("the smallest change that allows a request", () => {
  test.each<[string, Rule[], DescribedRequest, string[] | undefined]>([
    ["a method", [get], { path: "/a", method: "PUT" }, ["add PUT at spec.rules[0].to[0].operation.methods"]],
    [
      "two fields",
      [get],
      { path: "/x", method: "PUT" },
      ["add PUT at spec.rules[0].to[0].operation.methods", "add /x at spec.rules[0].to[0].operation.paths"],
    ],
    [
      "the rule with fewer failures",
      [get, inside],
      { from, path: "/b", method: "PUT" },
      ["remove /b at spec.rules[1].to[0].operation.notPaths"],
    ],
    ["nothing where the request has no such thing", [inside], { path: "/c" }, undefined],
    ["nothing where it is allowed", [get], { path: "/a" }, undefined],
  ])("is %s", (_, rules, asked, expected) => {
    expect(ask([allow(...rules)], asked).change).toEqual(expected)
  })

  test.each<[string, PolicyDocument[], DescribedRequest, string[]]>([
    [
      "for its caller",
      [deny({ to: [{ operation: { paths: ["/a"] } }] })],
      { from, path: "/a" },
      [`add ${from} at spec.rules[0].from[0].source.notPrincipals`],
    ],
    [
      "for its path where nobody is named",
      [deny({})],
      { path: "/a" },
      ["add /a at spec.rules[0].to[0].operation.notPaths"],
    ],
    [
      "in every alternative that matches",
      [
        deny({
          from: [
            { source: { namespaces: ["foo"] } },
            { source: { namespaces: ["bar"] } },
            { source: { principals: ["*"] } },
          ],
        }),
      ],
      { from },
      [
        `add ${from} at spec.rules[0].from[0].source.notPrincipals`,
        `add ${from} at spec.rules[0].from[2].source.notPrincipals`,
      ],
    ],
    [
      "and what an ALLOW rule lacks",
      [allow(get), deny({})],
      { from, path: "/a", method: "PUT" },
      [`add ${from} at spec.rules[0].from[0].source.notPrincipals`, "add PUT at spec.rules[0].to[0].operation.methods"],
    ],
  ])("excepts the request from a DENY, %s", (_, documents, asked, expected) => {
    expect(ask(documents, asked).change).toEqual(expected)
  })

  it("always allows the request, whatever the policies", () => {
    fc.assert(
      fc.property(
        policies,
        fc.constantFrom("/a", "/b", "/x/c"),
        fc.constantFrom("GET", "PUT"),
        (documents, path, method) => {
          const asked = { path, method, from }
          const answer = new Trial(documents, workload, mesh, NOW).ask(asked)
          const change = smallestChange({ documents, workload, mesh, now: NOW, asked }, answer)
          if (change === undefined) return
          expect(answer.verdict).toBe("deny")
          expect(change.length).toBeGreaterThan(0)
        },
      ),
      { numRuns: 100 * inject("effort"), interruptAfterTimeLimit: 15_000 * inject("effort") },
    )
  })
})

describe("the account of a request", () => {
  test.each<[string, PolicyDocument[], DescribedRequest, string]>([
    ["a rule that matches", [allow(get)], { path: "/a" }, "allowed: foo/allow[0] matches"],
    ["no policy", [], {}, "allowed: no ALLOW policy applies, so requests that are not denied are allowed"],
    ["a DENY", [deny({})], {}, "answered with 403: foo/deny[0] matches"],
    ["no canonical path", [], { path: "/%00" }, "answered with 400: the request path cannot be normalized"],
    [
      "an unknown issuer",
      [naming(["https://i.example"])],
      { token: { claims: { iss: "https://j.example" } } },
      "answered with 401: Jwt issuer is not configured (foo/naming-enforce jwtRules[0])",
    ],
  ])("is described by its last stage: %s", (_, documents, asked, reason) => {
    expect(reasonOf(ask(documents, asked).answer)).toBe(reason)
  })

  it("names every stage and how far the request got", () => {
    const { answer } = ask([naming(["https://i.example"])], { token: "abc" })
    expect(accountOf(answer).map(({ stage, outcome }) => `${stage} ${outcome}`)).toEqual([
      "transport passed",
      "path passed",
      "token denied",
      "audit not reached",
      "deny not reached",
      "allow not reached",
    ])
  })
})
