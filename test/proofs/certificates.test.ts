// SPDX-License-Identifier: Apache-2.0
// The independent checker accepts every certificate that the proofs write about random policies, and rejects all
// others.

import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { ruleName } from "../../packages/policy/src/authorization/rule-name.js"
import type { ObservedCall } from "../../packages/policy/src/ledger/call.js"
import { meshConfig } from "../../packages/policy/src/mesh/config.js"
import { GATEWAY_GROUP } from "../../packages/policy/src/mesh/names.js"
import type { Certificate } from "../../packages/policy/src/proof/certificate/certificate.js"
import { compareSets } from "../../packages/policy/src/proof/questions/compare.js"
import { deadRules } from "../../packages/policy/src/proof/questions/dead-rules.js"
import { diffSets } from "../../packages/policy/src/proof/questions/diff.js"
import { checkInvariants } from "../../packages/policy/src/proof/questions/invariants.js"
import { reachOf } from "../../packages/policy/src/proof/questions/reach.js"
import { anyIssuer, mesh, pairs, workload } from "../../packages/policy/src/proof/testing/sets.js"
import {
  authentication,
  authorization,
  rules,
  sets,
  pairs as tokenPairs,
} from "../../packages/policy/src/proof/testing/token-sets.js"
import { assertUntilSeen } from "../../packages/policy/src/proof/testing/until-seen.js"
import type { ProofWorkload } from "../../packages/policy/src/proof/workload.js"
import type { Rule } from "../../packages/policy/src/resources/authorization-policy/definition.js"
import type { TargetRef } from "../../packages/policy/src/resources/common.js"
import type {
  AuthorizationPolicy,
  PolicyDocument,
  PolicyInvariant,
} from "../../packages/policy/src/resources/document.js"
import type { JwtRule } from "../../packages/policy/src/resources/request-authentication/definition.js"
import { suggestPolicies } from "../../packages/policy/src/suggest/suggest.js"
import { Invalid, readPolicy } from "../../packages/proof-check/src/index.js"
import { certificateOf, checked, type Sides } from "./certified.js"
import { certified, EXAMPLES } from "./examples.js"

const OPTIONS = { limits: { steps: 300_000 }, now: 1_000 }
const timeout = 300_000 * inject("effort")

const compared = ([before = [], after = []]: Sides): string | undefined =>
  certificateOf([before, after], mesh, comparisons => {
    diffSets(before, after, [workload], mesh, { ...OPTIONS, comparisons })
  })

const digests = (sides: Sides): Json =>
  sides.map(side =>
    Object.fromEntries(
      side.flatMap(document => {
        const read = readPolicy(JSON.parse(JSON.stringify(document)), "default")
        return read === undefined ? [] : [[`${read.kind} ${read.namespace}/${read.name}`, read.digest]]
      }),
    ),
  )

function isValid(certificate: string, sides: Sides): boolean {
  try {
    checked(certificate, sides)
    return true
  } catch (error) {
    if (error instanceof Invalid) return false
    throw error
  }
}

const REQUEST = {
  ...{ path: "/a", method: "GET", scheme: "http", port: "80" },
  ...{ "source ip": "10.0.0.9", "destination ip": "10.0.0.1" },
}

/** A certificate without a proof. */
function forged(answer: object, ...sides: Sides): string {
  const settings = JSON.parse(compared([[anyIssuer], [anyIssuer]]) ?? "")
  const answers = [{ workloads: settings.answers[0].workloads, ...answer }]
  return `${canonical({ ...settings, answers, policies: digests(sides) })}\n`
}

const comparisons: fc.Arbitrary<Sides> = fc.oneof(
  pairs.map(sides => sides.map(side => [anyIssuer, ...side])),
  tokenPairs,
)

const statementOf = (holds: "never" | "always", rule: object): PolicyInvariant => ({
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "PolicyInvariant",
  metadata: { name: "i", namespace: "foo" },
  spec: { [holds]: [{ name: "s", ...rule }] },
})

describe("a certificate is valid", () => {
  it.each(EXAMPLES)("of $name", example => {
    expect(checked(certified(example) ?? "", example.sides)).toHaveLength(1)
  })

  it("of every comparison that is decided", { timeout }, () => {
    const seen = { equal: 0, different: 0, none: 0 }
    const property = fc.property(comparisons, sides => {
      const certificate = compared(sides)
      if (certificate === undefined) seen.none++
      else {
        seen[certificate.startsWith('{"answers":[{"changes":[]') ? "equal" : "different"]++
        expect(checked(certificate, sides)).toHaveLength(1)
      }
    })
    assertUntilSeen(property, { numRuns: 25 * inject("effort") }, seen, "equal", "different")
  })

  it.each<[string, JwtRule]>([["an empty list of audiences", { jwksUri: "https://a.example/keys", audiences: [] }]])(
    "of an invariant that a token breaks, with %s",
    (_, rule) => {
      const invariant = statementOf("never", { from: [{ source: { requestPrincipals: ["*"] } }] })
      const set = [authentication([rule]), invariant]
      const certificate = certificateOf([set], mesh, verdicts => {
        checkInvariants([invariant], set, [workload], mesh, { ...OPTIONS, verdicts })
      })
      expect(checked(certificate ?? "", [set])).toEqual([expect.stringContaining("is broken")])
    },
  )

  it("of every invariant that holds or is broken", { timeout }, () => {
    const settings = meshConfig()
    const seen = { holds: 0, broken: 0, none: 0 }
    const property = fc.property(sets, rules, fc.constantFrom("never", "always"), (set, rule, holds) => {
      const invariant = statementOf(holds, rule)
      const all = [...set, invariant]
      const certificate = certificateOf([all], settings, verdicts => {
        checkInvariants([invariant], all, [workload], settings, { ...OPTIONS, verdicts })
      })
      if (certificate === undefined) seen.none++
      else {
        seen[certificate.includes('"broken":') ? "broken" : "holds"]++
        expect(checked(certificate, [all])).toHaveLength(1)
      }
    })
    assertUntilSeen(property, { numRuns: 25 * inject("effort") }, seen, "holds", "broken")
  })
})

const called = { ...workload, ports: [8080], runBy: "web" }
const observed = fc.record({
  caller: fc.constantFrom("spiffe://cluster.local/ns/app/sa/a", "spiffe://cluster.local/ns/ops/sa/b"),
  method: fc.constantFrom("GET", "POST"),
  path: fc.constantFrom("/a", "/a/{*}", "/b", "/"),
})
const calls = fc.array(observed, { minLength: 1, maxLength: 4 }).map(all =>
  all.map((call): ObservedCall => {
    const always = { workload: "foo/web", port: 8080, protocol: "http", tls: true, verdict: "allow" } as const
    return { ...always, ...call, stage: "default", firstSeen: 1, lastSeen: 2, count: 1 }
  }),
)

/** Queries of each kind about one policy set. */
const ASKED: {
  readonly [kind: string]: (rule: Rule, calls: readonly ObservedCall[]) => (set: Set, of: Certificate) => void
} = {
  reach: rule => (set, reaches) => void reachOf(set, workload, mesh, rule, { ...OPTIONS, reaches }),
  unused: () => (set, unused) => void deadRules(set, [workload], mesh, { ...OPTIONS, unused }),
  suggested: (_, calls) => (set, suggestions) => {
    suggestPolicies(calls, set, [called], mesh, { ...OPTIONS, suggestions })
  },
}

type Set = readonly PolicyDocument[]

const asked = fc.record({ set: pairs.map(([one]) => [anyIssuer, ...one]), rule: rules, calls })

describe.each(Object.entries(ASKED))("of %s", (kind, ask) => {
  it("a certificate is valid, and a changed one is rejected unless its claim is true", { timeout }, () => {
    const seen = { valid: 0, none: 0, rejected: 0, accepted: 0 }
    const property = fc.property(
      asked,
      fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 10, maxLength: 10 }),
      ({ set, rule, calls }, changes) => {
        const certificate = certificateOf([set], mesh, of => ask(rule, calls)(set, of))
        if (certificate === undefined) {
          seen.none++
          return
        }
        seen.valid++
        expect(checked(certificate, [set]).length).toBeGreaterThan(0)
        for (const [at, how] of changes) {
          const value: Json = JSON.parse(certificate)
          const text = `${canonical(mutated(value, at % sizeOf(value), how))}\n`
          if (text === certificate || !isValid(text, [set])) seen.rejected++
          else {
            seen.accepted++
            expect(untrue(JSON.parse(text), set, JSON.parse(certificate))).toBeUndefined()
          }
        }
      },
    )
    assertUntilSeen(property, { numRuns: 12 * inject("effort") }, seen, "valid", "rejected")
    expect(`${kind} ${seen.rejected > seen.accepted}`).toBe(`${kind} true`)
  })
})

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

const WORDS = ["need", "ban", "split", "allow", "refuse", "path", "peer", "/a", "GET", "0 mode", "", "*"]

/** Changes, removes or duplicates one value. `at` and `how` select it. */
function mutated(value: Json, at: number, how: number): Json {
  let left = at
  const change = (one: Json): Json | undefined => {
    if (typeof one === "number") return one + (how % 3) - 1
    if (typeof one === "boolean") return !one
    return how % 4 === 0 ? undefined : (WORDS[how % WORDS.length] ?? null)
  }
  const walk = (one: Json): Json | undefined => {
    if (left-- === 0) return change(one)
    if (Array.isArray(one)) {
      const items = one.flatMap(item => walk(item) ?? [])
      return left-- === 0 && how % 2 === 0 ? items.toReversed() : items
    }
    if (typeof one !== "object" || one === null) return one
    return Object.fromEntries(
      Object.entries(one).flatMap(([name, item]) => [[name, walk(item)]].filter(([, kept]) => kept !== undefined)),
    )
  }
  return walk(value) ?? null
}

const sizeOf = (value: Json): number =>
  typeof value !== "object" || value === null
    ? 1
    : Object.values(value).reduce((sum: number, one) => sum + sizeOf(one), 2)

function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const names = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${names.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join()}}`
}

interface Written {
  readonly answers: readonly {
    readonly changes: readonly { readonly from: string; readonly to: string }[]
    readonly workloads: readonly (typeof workload)[]
  }[]
  readonly policies: Json
}

/** What the certificate claims, and what the proofs conclude about the same question. */
function directions(
  { answers: [answer] }: Written,
  [before = [], after = []]: Sides,
): readonly [claimed: unknown, true_: unknown] {
  const of = (changes: readonly { readonly from: string; readonly to: string }[]) =>
    new Set(changes.map(({ from, to }) => `${from} ${to}`))
  const [one] = answer?.workloads ?? []
  if (answer === undefined || one === undefined) return [1, 2]
  return [of(answer.changes), of(compareSets(before, after, one, mesh, OPTIONS).changes)]
}

interface Claimed {
  readonly mesh: Json
  readonly answers: readonly {
    readonly kind: string
    readonly workloads: readonly (typeof workload)[]
    readonly rules?: readonly string[]
    readonly asked?: Rule
    readonly ways?: readonly { readonly rule: string | null }[]
    readonly policy?: AuthorizationPolicy
    readonly shapes?: readonly Rule[]
    readonly changes?: readonly { readonly from: string; readonly to: string }[]
  }[]
}

/**
 * The first answer that the proofs do not confirm. A certificate of another mesh makes a different claim and is
 * skipped.
 */
function untrue({ answers, mesh: settings }: Claimed, set: Set, original: Claimed): string | undefined {
  if (canonical(settings) !== canonical(original.mesh)) return undefined
  const wrong = answers.find(answer => {
    const [of] = answer.workloads
    if (of === undefined) return true
    const equal = (before: Set, after: Set, counts = (to: string) => to !== ""): boolean =>
      compareSets(before, after, of, mesh, OPTIONS).changes.every(
        ({ from, to }) => !counts(to) || answer.changes?.some(one => one.from === from && one.to === to),
      )
    const without = (wanted: (document: PolicyDocument) => boolean) => set.filter(document => !wanted(document))
    const isAllow = (document: PolicyDocument) =>
      document.kind === "AuthorizationPolicy" && (document.spec.action ?? "ALLOW") === "ALLOW"
    if (answer.kind === "reach") {
      const names = new Set(answer.ways?.map(({ rule }) => rule))
      const { ways } = reachOf(set, of, mesh, answer.asked ?? {}, OPTIONS)
      return !ways.every(({ rule }) => names.has(rule === undefined ? null : ruleName(rule)))
    }
    if (answer.kind === "unused") {
      const left = set.map(document => {
        if (document.kind !== "AuthorizationPolicy") return document
        const { name, namespace } = document.metadata
        const kept = (document.spec.rules ?? []).filter(
          (_, at) => !answer.rules?.includes(`${namespace}/${name}[${at}]`),
        )
        return { ...document, spec: { ...document.spec, rules: kept } }
      })
      return !equal(set, left)
    }
    if (answer.policy === undefined) return true
    const policy: AuthorizationPolicy = { ...answer.policy, spec: { ...answer.policy.spec, enforcement: "Enforce" } }
    if (answer.kind === "suggested") return !equal(set, [...without(isAllow), policy], to => to === "allow")
    const tokens = set.filter(({ kind }) => kind === "RequestAuthentication")
    const stated = { ...policy, spec: { ...policy.spec, rules: [...(answer.shapes ?? [])] } }
    return !equal([...tokens, stated], [...tokens, policy])
  })
  return wrong && canonical(JSON.parse(JSON.stringify(wrong)))
}

describe("a certificate is not valid", () => {
  it("that was changed, unless its claim is true", { timeout }, () => {
    const seen = { rejected: 0, accepted: 0 }
    const property = fc.property(
      comparisons,
      fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 20, maxLength: 20 }),
      (sides, changes) => {
        const certificate = compared(sides)
        if (certificate === undefined) return
        const value: Json = JSON.parse(certificate)
        for (const [at, how] of changes) {
          const text = `${canonical(mutated(value, at % sizeOf(value), how))}\n`
          if (text === certificate) continue
          const isAccepted = isValid(text, sides)
          seen[isAccepted ? "accepted" : "rejected"]++
          if (!isAccepted) continue
          const written: Written = JSON.parse(text)
          const mesh_ = JSON.parse(text).mesh
          // A certificate of another mesh makes a different claim.
          if (canonical(mesh_) !== canonical(JSON.parse(certificate).mesh)) continue
          const [claimed, known] = directions(written, sides)
          expect(claimed).toEqual(known)
        }
      },
    )
    assertUntilSeen(property, { numRuns: 12 * inject("effort") }, seen, "rejected")
    expect(seen.rejected).toBeGreaterThan(seen.accepted)
  })

  it("for other policies than those it proves", { timeout }, () => {
    const seen = { rejected: 0, true: 0 }
    const property = fc.property(comparisons, comparisons, (sides, others) => {
      const [certificate, other] = [compared(sides), compared(others)]
      if (certificate === undefined || other === undefined) return
      const forged = { ...JSON.parse(certificate), policies: JSON.parse(other).policies }
      if (!isValid(`${canonical(forged)}\n`, others)) seen.rejected++
      else {
        seen.true++
        const [claimed, known] = directions(forged, others)
        expect(claimed).toEqual(known)
      }
    })
    assertUntilSeen(property, { numRuns: 25 * inject("effort") }, seen, "rejected")
  })

  it.each<[string, { readonly token?: string; readonly values?: object }]>([
    ["a token that is not a JWT", { token: "preflight" }],
    ["no address", { values: { "source ip": undefined } }],
    ["no scheme", { values: { scheme: undefined } }],
    ["a port that is out of range", { values: { port: "65536" } }],
    ["a port that is not a number", { values: { port: "80e0" } }],
    ["a path that is not normalised", { values: { path: "/a/../b" } }],
    ["a header value that cannot be sent", { values: { "header x-a": ["\r\n"] } }],
    ["a header that tokens are read from", { values: { "header authorization": ["Bearer a"] } }],
    ["a host with a trailing dot, which rules do not see", { values: { host: "b.example." } }],
    ["a header that removes others", { values: { "header connection": ["x-a"] } }],
    ["the name of a server in plaintext", { values: { sni: "a.example" } }],
  ])("that shows a request with %s", (_, { values = {}, ...change }) => {
    const paths = ["/a", "/a/*"]
    const invariant = statementOf("never", { to: [{ operation: { paths, notHosts: ["b.example"] } }] })
    const set = [anyIssuer, invariant]
    const written = (more: object, others: object): string => {
      const shown = JSON.parse(JSON.stringify({ http: true, values: { ...REQUEST, ...others }, ...more }))
      const answer = { broken: { outcome: "allow", request: shown }, holds: "never", invariant: "foo/i", rule: "s" }
      return forged({ ...answer, kind: "invariant", proofs: {} }, set)
    }
    expect([isValid(written({}, {}), [set]), isValid(written(change, values), [set])]).toEqual([true, false])
  })

  it("about requests whose claim is compared with nothing", () => {
    const set = [anyIssuer, authorization("ALLOW", [])]
    const asked = (values: readonly string[]): string =>
      forged({ kind: "reach", asked: { when: [{ key: "request.auth.claims[g]", values }] }, ways: [], proofs: {} }, set)
    expect([isValid(asked(["v"]), [set]), isValid(asked([]), [set])]).toEqual([true, false])
  })

  it("of a policy that targets a Gateway with the name of a Service", () => {
    const policy = (targetRefs: readonly TargetRef[]): PolicyDocument => ({
      apiVersion: "security.merlon.dev/v1alpha3",
      kind: "AuthorizationPolicy",
      metadata: { name: "a", namespace: "foo" },
      spec: { action: "DENY", targetRefs: [...targetRefs], rules: [{}] },
    })
    const invariant = statementOf("never", { to: [{ operation: { paths: ["/a"] } }] })
    const gateway = { group: GATEWAY_GROUP, kind: "Gateway", name: "web" } as const
    const holds = (of: ProofWorkload, target: TargetRef): string | undefined => {
      const set = [policy([target]), invariant]
      return certificateOf([set], mesh, verdicts => {
        checkInvariants([invariant], set, [of], mesh, { ...OPTIONS, verdicts })
      })
    }
    const behindService = { ...workload, services: ["web"] }
    const authorizer = { ...workload, labels: { "merlon.dev/gateway": "web" } }
    const proved = holds(behindService, { kind: "Service", name: "web" }) ?? ""
    const other = holds(behindService, gateway) ?? ""
    const forged = { ...JSON.parse(proved), policies: JSON.parse(other).policies }
    const set = [policy([gateway]), invariant]
    expect(isValid(`${canonical(forged)}\n`, [set])).toBe(false)
    expect(checked(other, [set])).toEqual([expect.stringContaining("broken")])
    expect(checked(holds(authorizer, gateway) ?? "", [set])).toEqual([expect.stringContaining("holds")])
  })

  it("about a suggested policy that does not apply to the workload", () => {
    const written = (shapes: readonly Rule[], metadata: object, spec: object): string => {
      const policy = { ...authorization("ALLOW", [{}]), metadata: { name: "s", namespace: "foo", ...metadata } }
      const answer = { kind: "shapes", policy: { ...policy, spec: { ...policy.spec, ...spec } }, proofs: {}, shapes }
      return forged(answer, [anyIssuer])
    }
    const dry = { annotations: { [mesh.names.dryRunAnnotation]: "true" } }
    const shapes: readonly Rule[] = [{ to: [{ operation: { paths: ["/a"] } }] }]
    const others = { selector: { matchLabels: { app: "other" } } }
    expect(isValid(written([{}], dry, {}), [[anyIssuer]])).toBe(true)
    expect(isValid(written(shapes, dry, {}), [[anyIssuer]])).toBe(false)
    expect(isValid(written(shapes, {}, others), [[anyIssuer]])).toBe(false)
    expect(isValid(written(shapes, {}, { enforcement: "Shadow" }), [[anyIssuer]])).toBe(false)
  })

  it.each<[string, { readonly name?: string; readonly namespace?: string }]>([
    ["a line of output", { name: "web: nothing changes\nfoo/other" }],
    ["two workloads", { name: "web, foo/other" }],
    ["a namespace and a name", { namespace: "foo/other" }],
  ])("whose workload has a name that reads like %s", (_, change) => {
    const set = [anyIssuer]
    const written = (workloads: object) =>
      forged({ changes: [], kind: "compare", proofs: {}, workloads: [workloads] }, set, set)
    const [plain] = JSON.parse(compared([set, set]) ?? "").answers[0].workloads
    expect([isValid(written(plain), [set, set]), isValid(written({ ...plain, ...change }), [set, set])]).toEqual([
      true,
      false,
    ])
  })

  it.each<[string, object]>([
    ["is of another mesh", { apiVersion: "security.istio.io/v1" }],
    ["has no apiVersion", { apiVersion: undefined }],
    ["has an unknown action", { spec: { action: "Deny", rules: [{}] } }],
    ["has an unknown enforcement", { spec: { enforcement: "shadow" } }],
    ["has a selector and targets", { spec: { selector: {}, targetRefs: [{ kind: "Service", name: "web" }] } }],
    ["has an invalid name", { metadata: { name: "A b", namespace: "foo" } }],
    [
      "spells the token requirement differently",
      { ...anyIssuer, spec: { jwtRules: [{ issuer: "i", presence: "required" }] } },
    ],
    [
      "has a quoted expiry requirement",
      { ...anyIssuer, spec: { jwtRules: [{ issuer: "i", requireExpiration: "true" }] } },
    ],
    [
      "spells a key set in two ways",
      { ...anyIssuer, spec: { jwtRules: [{ jwksUri: "https://a.example", jwks_uri: "https://b.example" }] } },
    ],
    [
      "has a key that cannot verify signatures",
      {
        ...anyIssuer,
        spec: { jwtRules: [{ jwks: JSON.stringify({ keys: [{ kty: "RSA", n: "AQAB", e: "AQAB" }] }) }] },
      },
    ],
  ])("about a policy that %s", (_, change) => {
    const isKnown = (more: object): boolean => {
      // The test writes such policies although Merlon rejects them.
      const set = [{ ...authorization("ALLOW", []), ...more } as PolicyDocument]
      try {
        return checked(forged({ changes: [], kind: "compare", proofs: {} }, set, set), [set, set]).length > 0
      } catch (error) {
        if (error instanceof Invalid) return false
        throw error
      }
    }
    expect([isKnown({}), isKnown(change)]).toEqual([true, false])
  })

  it("that shows a token in a header that another rule reads as a whole", () => {
    const rule = (issuer: string, prefix?: string) => {
      const location = { name: "x-token", ...(prefix !== undefined && { prefix }) }
      return { issuer, jwksUri: "https://a.example/keys", fromHeaders: [location] }
    }
    const set = [
      authentication([rule("a", "T "), rule("b")]),
      statementOf("never", { from: [{ source: { requestPrincipals: ["a/*"] } }] }),
    ]
    const token = {
      expiry: "set",
      subject: { issuer: "a", subject: "s" },
      "token key": 'fetched ["a","https://a.example/keys"]',
    }
    const values = { ...REQUEST, ...token }
    const request = { http: true, token: '["header","x-token","T "]', values }
    const answer = {
      broken: { outcome: "allow", request },
      holds: "never",
      invariant: "foo/i",
      kind: "invariant",
      rule: "s",
    }
    expect(() => checked(forged({ ...answer, proofs: {} }, set), [set])).toThrow("different ways")
    const other = [authentication([rule("a", "T ")]), ...set.slice(1)]
    expect(checked(forged({ ...answer, proofs: {} }, other), [other])).toEqual([expect.stringContaining("is broken")])
  })

  it("of an invariant with a duplicate name", () => {
    const rules = [{ to: [{ operation: { paths: ["/a"] } }] }, { from: [{ source: { namespaces: ["a"] } }] }]
    const named = (...names: readonly string[]) => ({
      ...statementOf("never", {}),
      spec: { never: names.map((name, at) => ({ name, ...rules[at] })) },
    })
    const answer = { broken: { outcome: "allow", request: { http: true, values: REQUEST } }, holds: "never" }
    const isBroken = (...names: readonly string[]): boolean => {
      const set = [anyIssuer, named(...names)]
      return isValid(forged({ ...answer, kind: "invariant", invariant: "foo/i", rule: "s", proofs: {} }, set), [set])
    }
    expect([isBroken("s"), isBroken("s", "t"), isBroken("s", "s")]).toEqual([true, true, false])
  })

  it("of a mesh with an invalid root namespace", () => {
    const set = [anyIssuer]
    const forgery = JSON.parse(forged({ changes: [], kind: "compare", proofs: {} }, set, set))
    const of = (rootNamespace: string) => `${canonical({ ...forgery, mesh: { ...forgery.mesh, rootNamespace } })}\n`
    expect([isValid(of("merlon-system"), [set, set]), isValid(of("policies"), [set, set])]).toEqual([true, false])
  })

  it("of token rules that require other tokens, which two tokens can meet at once", () => {
    const side = (header: string, path: string): readonly PolicyDocument[] => [
      authentication([{ jwksUri: "https://a.example/keys", fromHeaders: [{ name: header }], presence: "REQUIRED" }]),
      authorization("ALLOW", [{ to: [{ operation: { paths: [path] } }] }]),
    ]
    const sides = [side("x-one", "/a"), side("x-two", "/b")]
    const forged = { ...JSON.parse(compared([[anyIssuer], [anyIssuer]]) ?? ""), policies: digests(sides) }
    expect(compared(sides)).toBeUndefined()
    expect(() => checked(`${canonical(forged)}\n`, sides)).toThrow("two tokens")
  })

  it("that exceeds the limit of steps", () => {
    const [example] = EXAMPLES
    const [certificate, sides] = [example && certified(example), example?.sides ?? []]
    const check = (steps: number) => checked(certificate ?? "", sides, steps)
    expect(check(1_000_000)).toHaveLength(1)
    expect(() => check(10)).toThrow("too many steps")
  })

  it("that does too much work in few steps", () => {
    const asked = { from: [{ source: { namespaces: ["a*".repeat(2_000)] } }] }
    const request = { http: true, values: { ...REQUEST, peer: `cluster.local/ns/${"a".repeat(20_000)}/sa/a` } }
    const written = forged({ kind: "reach", asked, proofs: {}, ways: [{ request, rule: null }] }, [anyIssuer])
    expect(() => checked(written, [[anyIssuer]], 1_000_000)).toThrow("too many steps")
  })

  it.each([
    ["it is nested too deeply", `${"[".repeat(100_000)}${"]".repeat(100_000)}\n`],
    [
      "a number has an invalid type",
      '{"answers":[],"format":"merlon.dev/certificate/2","mesh":{"proxies":"1"},"policies":[]}\n',
    ],
  ])("in which %s", (_, text) => expect(() => checked(text, [])).toThrow(Invalid))

  it.each([
    ["an unknown field", (text: string) => text.replace('{"answers"', '{"and":1,"answers"')],
    ["whitespace", (text: string) => text.replace('"format":', '"format": ')],
    ["another format", (text: string) => text.replace("certificate/2", "certificate/1")],
    [
      "an answer without a proof",
      (text: string) => text.replace(/"proofs":\{.*?\},"workloads"/, '"proofs":{},"workloads"'),
    ],
    ["another annotation of shadow mode", (text: string) => text.replace("merlon.dev/dry-run", "prometheus.io/scrape")],
    ["a claim of another kind", (text: string) => text.replace('"kind":"compare"', '"kind":"believe"')],
    ["no content", () => "{}\n"],
    ["content that is not JSON", () => "certificate"],
  ])("with %s", (_, change) => {
    const policy = (paths: string[], name: string) =>
      ({
        apiVersion: "security.merlon.dev/v1alpha3",
        kind: "AuthorizationPolicy",
        metadata: { name, namespace: "foo" },
        spec: { rules: paths.map(path => ({ to: [{ operation: { paths: [path] } }] })) },
      }) as const
    const sides = [[policy(["/a*"], "a")], [policy(["/a*", "/ab"], "a")]]
    const certificate = compared(sides) ?? ""
    expect([isValid(certificate, sides), isValid(change(certificate), sides)]).toEqual([true, false])
  })
})
