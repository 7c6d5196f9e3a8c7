// SPDX-License-Identifier: Apache-2.0
// The universe is so small that every request in it can be judged: the proof must agree with judging all of them, in
// both directions. The grid does not use the proof's classes; it has a request for everything that the vocabulary
// distinguishes.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { type Asked, httpRequest, tcpConnection } from "../../authorization/testing/requests.js"
import { rejectedByMode } from "../../judge.js"
import { meshConfig } from "../../mesh/config.js"
import { compile, decide, type Program } from "../../program.js"
import type { Attributes } from "../../request/attributes.js"
import type { Condition, Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PeerAuthentication, PolicyDocument } from "../../resources/document.js"
import { anyIssuer, workload } from "../testing/sets.js"
import { assertUntilSeen } from "../testing/until-seen.js"
import { compareSets } from "./compare.js"

const mesh = meshConfig()
const pick = <T>(...values: T[]) => fc.constantFrom(...values)
const some = (value: fc.Arbitrary<string>) => fc.array(value, { minLength: 1, maxLength: 2 })
const optional = (entries: Record<string, fc.Arbitrary<string>>) =>
  fc.record(Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, some(value)])), {
    requiredKeys: [],
  })

const principals = pick("cluster.local/ns/a/sa/x", "cluster.local/ns/a/*", "*/sa/x", "*")
const paths = pick("/a", "/a*", "*/c", "/{*}", "/a/{**}", "*", "/a/{*}/c")
const source = optional({
  principals,
  notPrincipals: principals,
  namespaces: pick("a", "b*"),
  notNamespaces: pick("a", "b*"),
  requestPrincipals: pick("*", "i/s", "i/*"),
  notRequestPrincipals: pick("*", "i/s", "i/*"),
})
const operation = optional({
  paths,
  notPaths: paths,
  methods: pick("GET", "*"),
  notMethods: pick("GET"),
  ports: pick("80"),
})
const when: fc.Arbitrary<Condition> = fc
  .record(
    {
      key: fc.constant("request.auth.claims[g]"),
      values: some(pick("v1", "v*", "*")),
      notValues: some(pick("v1", "v2")),
    },
    { requiredKeys: ["key"] },
  )
  .filter(condition => condition.values !== undefined || condition.notValues !== undefined)
const rule: fc.Arbitrary<Rule> = fc.record(
  {
    from: fc.array(
      source.map(one => ({ source: one })),
      { minLength: 1, maxLength: 2 },
    ),
    to: fc.array(
      operation.map(one => ({ operation: one })),
      { minLength: 1, maxLength: 2 },
    ),
    when: fc.array(when, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: [] },
)
const policy = (name: string, action: "ALLOW" | "DENY", rules: readonly Rule[]): AuthorizationPolicy => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "AuthorizationPolicy",
  metadata: { name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { action, rules: [...rules] },
})
const mode = (of: "STRICT" | "PERMISSIVE" | "DISABLE", port: boolean): PeerAuthentication => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "PeerAuthentication",
  metadata: { name: "mode", namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: port
    ? { selector: { matchLabels: { app: "web" } }, mtls: { mode: "PERMISSIVE" }, portLevelMtls: { "80": { mode: of } } }
    : { mtls: { mode: of } },
})

/** Rules come from one pool, so that the two sets have some in common. */
const pairs = fc
  .record({
    pool: fc.array(rule, { minLength: 1, maxLength: 3 }),
    picks: fc.array(
      fc.record({ side: pick(0, 1, 2), action: pick("ALLOW", "DENY"), rule: fc.nat({ max: 2 }) } as const),
      { maxLength: 5 },
    ),
    modes: fc.tuple(
      pick<"STRICT" | "PERMISSIVE" | "DISABLE">("STRICT", "PERMISSIVE", "DISABLE"),
      pick<"STRICT" | "PERMISSIVE" | "DISABLE">("STRICT", "PERMISSIVE", "DISABLE"),
      fc.boolean(),
      fc.nat({ max: 3 }),
    ),
  })
  .map(({ pool, picks, modes: [one, other, port, same] }) => {
    const side = (wanted: 0 | 1): readonly PolicyDocument[] => {
      const own = picks.filter(({ side }) => side === wanted || side === 2)
      const rules = (action: string) =>
        own.filter(one => one.action === action).map(one => pool[one.rule % pool.length] ?? {})
      const documents: PolicyDocument[] = [anyIssuer, mode(wanted === 0 || same > 0 ? one : other, port)]
      if (rules("ALLOW").length > 0) documents.push(policy("allow", "ALLOW", rules("ALLOW")))
      if (rules("DENY").length > 0) documents.push(policy("deny", "DENY", rules("DENY")))
      return documents
    }
    return [side(0), side(1)] as const
  })

const PATHS = [
  "/",
  "/a",
  "/ab",
  "/a/",
  "/a/b",
  "/a/c",
  "/a/b/c",
  "/b/c",
  "/c",
  "/b",
  "/b/b",
  "/ab/c",
  "/ab/b",
  "/a/b/b/c",
  "/a/b/b",
  "*",
]
const PEERS = [
  undefined,
  ...["a", "b", "c"].flatMap(ns => ["x", "y"].map(sa => `cluster.local/ns/${ns}/sa/${sa}`)),
  "other/ns/a/sa/x",
  "other/ns/a/sa/y",
  "other/ns/c/sa/y",
]
const CLAIMS = [
  undefined,
  ...["i", "j"].flatMap(iss =>
    ["s", "t", undefined].flatMap(sub =>
      [[], ["v1"], ["v2"], ["v3"], ["w"], ["v1", "v2"], ["v1", "w"], [""]].map(g => ({
        iss,
        g,
        ...(sub === undefined ? {} : { sub }),
      })),
    ),
  ),
]

const GRID: readonly Attributes[] = PEERS.flatMap(peer =>
  [80, 81].flatMap(port => {
    const common: Asked = { port, ...(peer === undefined ? {} : { peer }) }
    const http = CLAIMS.flatMap(claims =>
      PATHS.flatMap(target =>
        ["GET", "PUT"].map(method =>
          httpRequest({ ...common, target, method, ...(claims === undefined ? {} : { claims }) }),
        ),
      ),
    )
    return [tcpConnection(common), ...http]
  }),
)

const outcome = (program: Program, attributes: Attributes): string =>
  rejectedByMode(program, attributes) === undefined ? decide(program, attributes).verdict : "transport"

const NAMED = {
  allow: "allow",
  custom: "custom",
  deny: "deny",
  transport: "transport",
  unauthenticated: "401",
} as const

it("finds a difference, and its direction, exactly where judging every request finds one", {
  timeout: 180_000 * inject("effort"),
}, () => {
  const seen = { equal: 0, different: 0, undecided: 0 }
  assertUntilSeen(
    fc.property(pairs, ([before, after]) => {
      const { result, changes } = compareSets(before, after, workload, mesh, { now: 1_000 })
      const [was, is] = [compile(before, workload, mesh), compile(after, workload, mesh)]
      const directions = new Set<string>()
      for (const attributes of GRID) {
        const [old, young] = [outcome(was, attributes), outcome(is, attributes)]
        if (old !== young) directions.add(`${old} → ${young}`)
      }
      seen[result]++
      // The grid has no invalid tokens; other tests cover them.
      const named = changes
        .map(({ from, to }) => `${NAMED[from]} → ${NAMED[to]}`)
        .filter(words => !words.includes("401"))
      expect([result, new Set(named)]).toEqual([directions.size === 0 ? "equal" : "different", directions])
    }),
    { numRuns: 20 * inject("effort") },
    seen,
    "equal",
    "different",
  )
})
