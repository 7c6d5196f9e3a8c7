// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { policies } from "../../authorization/testing/arbitraries.js"
import { meshConfig } from "../../mesh/config.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PeerAuthentication, PolicyDocument } from "../../resources/document.js"
import { assertUntilSeen } from "../testing/until-seen.js"
import { compareSets } from "./compare.js"
import { deadRules } from "./dead-rules.js"

const mesh = meshConfig()
const apiVersion = "security.merlon.dev/v1alpha3"
const metadata = (name: string) => ({ name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" })
const policy = (name: string, action: "ALLOW" | "DENY", ...rules: Rule[]): AuthorizationPolicy => ({
  apiVersion,
  kind: "AuthorizationPolicy",
  metadata: metadata(name),
  spec: { action, rules },
})
const strict: PeerAuthentication = {
  apiVersion,
  kind: "PeerAuthentication",
  metadata: metadata("m"),
  spec: { mtls: { mode: "STRICT" } },
}
const workload = { namespace: "foo", name: "web", labels: {} }
const to = (...paths: string[]): Rule => ({ to: [{ operation: { paths } }] })
const resultOf = (...documents: PolicyDocument[]) =>
  deadRules(documents, [workload], mesh).dead.map(
    ({ rule, because, by }) =>
      `${rule.policy.name} ${rule.rule}: ${because}${by.map(ref => ` ${ref.policy.name} ${ref.rule}`).join("")}`,
  )

describe("a rule is dead", () => {
  test.each<[string, readonly PolicyDocument[], readonly string[]]>([
    ["where one other rule covers it", [policy("a", "ALLOW", to("/a*"), to("/a/b"))], ["a 1: other-rules a 0"]],
    [
      "where two others cover it together",
      [policy("a", "ALLOW", to("/a"), to("/b"), to("/a", "/b"))],
      ["a 2: other-rules a 0 a 1"],
    ],
    [
      "where a DENY takes everything from it",
      [policy("a", "ALLOW", to("/a/b"), to("/c")), policy("d", "DENY", to("/a/{**}"))],
      ["a 0: other-rules d 0"],
    ],
    [
      "where it contradicts itself",
      [policy("a", "ALLOW", { to: [{ operation: { paths: ["/a"], notPaths: ["/a*"] } }] })],
      ["a 0: contradiction"],
    ],
    [
      "where the mode rejects whom it is about",
      [strict, policy("a", "ALLOW", { from: [{ source: { notPrincipals: ["*"] } }] }, to("/x"))],
      ["a 0: mode-or-token"],
    ],
    ["the later one, of two that are equal", [policy("a", "ALLOW", to("/a"), to("/a"))], ["a 1: other-rules a 0"]],
    ["not where it adds something", [policy("a", "ALLOW", to("/a"), to("/a*"))], ["a 0: other-rules a 1"]],
    [
      "not where nothing else is said",
      [policy("a", "ALLOW", to("/a")), policy("d", "DENY", { ...to("/a"), from: [{ source: { namespaces: ["x"] } }] })],
      [],
    ],
  ])("%s", (_, documents, expected) => {
    expect(resultOf(...documents)).toEqual(expected)
  })

  it("only if it is dead on every workload that it concerns", () => {
    const wide = {
      ...policy("wide", "ALLOW", to("/*")),
      spec: { selector: { matchLabels: { app: "web" } }, rules: [to("/*")] },
    }
    const other = { ...workload, name: "api", labels: { app: "web" } }
    const documents = [policy("a", "ALLOW", to("/a")), wide]
    expect(deadRules(documents, [other], mesh).dead).toHaveLength(1)
    expect(deadRules(documents, [other, workload], mesh).dead).toEqual([])
  })
})

it("changes nothing when all dead rules are removed", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { dead: 0 }
  assertUntilSeen(
    fc.property(policies, documents => {
      const enforced = documents.filter(({ spec }) => spec.enforcement !== "Shadow")
      const { dead } = deadRules(enforced, [workload], mesh, { limits: { steps: 300_000 } })
      seen.dead += dead.length
      const without = enforced.map(document => ({
        ...document,
        spec: {
          ...document.spec,
          rules: (document.spec.rules ?? []).filter(
            (_, index) => !dead.some(({ rule }) => rule.rule === index && rule.policy.name === document.metadata.name),
          ),
        },
      }))
      expect(
        compareSets(enforced, without, workload, mesh, { now: 1_000, limits: { steps: 1_000_000 } }).changes,
      ).toEqual([])
    }),
    { numRuns: 30 * inject("effort") },
    seen,
    "dead",
  )
})
