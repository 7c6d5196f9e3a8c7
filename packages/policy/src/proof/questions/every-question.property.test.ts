// SPDX-License-Identifier: Apache-2.0
// No request contradicts a proof about sets with token rules of every kind, including requests with several tokens and
// requests that forge headers that token rules write or remove.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { type MeshConfig, meshConfig } from "../../mesh/config.js"
import type { Rule } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyDocument } from "../../resources/document.js"
import { policySide } from "../policy-side.js"
import { workload } from "../testing/sets.js"
import { authorization, judged, meshes, NOW, pairs, rules, type Sent, sent, sets } from "../testing/token-sets.js"
import { assertUntilSeen } from "../testing/until-seen.js"
import { compareSets } from "./compare.js"
import { deadRules } from "./dead-rules.js"
import { checkInvariants } from "./invariants.js"
import { reachOf } from "./reach.js"

const LIMITS = { steps: 300_000 }
const OPTIONS = { now: NOW, limits: LIMITS }
const requests = fc.array(sent, { minLength: 25, maxLength: 25 })

it("never reports sets as equal that some request distinguishes", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { equal: 0, different: 0, undecided: 0 }
  assertUntilSeen(
    fc.property(pairs, requests, meshes, ([before, after], some, settings) => {
      const mesh = meshConfig(settings)
      const { result, changes, undecided } = compareSets(before, after, workload, mesh, OPTIONS)
      seen[result]++
      const [was, is] = [before, after].map(documents => policySide(documents, workload, mesh).program)
      if (was === undefined || is === undefined) return
      for (const one of some) {
        const [old, young] = [judged(was, one).outcome, judged(is, one).outcome]
        if (old === young) continue
        expect(result).not.toBe("equal")
        if (undecided !== undefined) continue
        expect(changes.map(({ from, to }) => `${from} → ${to}`)).toContain(`${old} → ${young}`)
      }
    }),
    { numRuns: 80 * inject("effort") },
    seen,
    "equal",
    "different",
    "undecided",
  )
})

/** Whether the rule matches the request, as the rules of this set see it. */
function matching(rule: Rule, documents: readonly PolicyDocument[], mesh: MeshConfig): (one: Sent) => boolean {
  const only = documents.filter(({ kind }) => kind === "RequestAuthentication")
  const { program } = policySide([...only, authorization("DENY", [rule])], workload, mesh)
  return one => judged(program, one).outcome === "deny"
}

it("never says that an invariant holds if some request breaks it", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { holds: 0, broken: 0, undecided: 0 }
  assertUntilSeen(
    fc.property(
      sets,
      rules,
      fc.constantFrom("never" as const, "always" as const),
      requests,
      meshes,
      (set, rule, holds, some, settings) => {
        const mesh = meshConfig(settings)
        const invariant = {
          apiVersion: "security.merlon.dev/v1alpha3",
          kind: "PolicyInvariant",
          metadata: { name: "i", namespace: "foo" },
          spec: { [holds]: [{ name: "s", ...rule }] },
        } as const
        const [checked] = checkInvariants([invariant], set, [workload], mesh, OPTIONS)
        const verdict = checked?.result.verdict ?? "undecided"
        seen[verdict]++
        if (verdict !== "holds") return
        const { program } = policySide(set, workload, mesh)
        const isStated = matching(rule, set, mesh)
        for (const one of some) {
          const { outcome } = judged(program, one)
          // Invariants say nothing about requests with an invalid token.
          if (!isStated(one)) continue
          expect(outcome === "allow").toBe(holds === "always")
        }
      },
    ),
    { numRuns: 60 * inject("effort") },
    seen,
    "holds",
    "broken",
  )
})

it("lists every rule that allows a request", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { complete: 0, undecided: 0 }
  assertUntilSeen(
    fc.property(sets, rules, requests, meshes, (set, rule, some, settings) => {
      const mesh = meshConfig(settings)
      const { ways, undecided } = reachOf(set, workload, mesh, rule, OPTIONS)
      seen[undecided === undefined ? "complete" : "undecided"]++
      if (undecided !== undefined) return
      const { program } = policySide(set, workload, mesh)
      const isAsked = matching(rule, set, mesh)
      for (const one of some) {
        const { outcome } = judged(program, one)
        if (outcome === "allow" && isAsked(one)) expect(ways).not.toEqual([])
      }
    }),
    { numRuns: 60 * inject("effort") },
    seen,
    "complete",
  )
})

it("never reports a rule as dead if its removal changes a decision", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { dead: 0, none: 0 }
  assertUntilSeen(
    fc.property(sets, requests, meshes, (set, some, settings) => {
      const mesh = meshConfig(settings)
      const dead = new Set(deadRules(set, [workload], mesh, { limits: LIMITS }).dead.map(({ rule }) => rule.id))
      seen[dead.size > 0 ? "dead" : "none"]++
      if (dead.size === 0) return
      const { program } = policySide(set, workload, mesh)
      const { program: left } = policySide(
        set.map(document => (document.kind === "AuthorizationPolicy" ? without(dead, document) : document)),
        workload,
        mesh,
      )
      for (const one of some) expect(judged(left, one).outcome).toBe(judged(program, one).outcome)
    }),
    { numRuns: 60 * inject("effort") },
    seen,
    "dead",
  )
})

function without(dead: ReadonlySet<string>, policy: AuthorizationPolicy): AuthorizationPolicy {
  const { namespace, name } = policy.metadata
  const left = (policy.spec.rules ?? []).filter(
    (_, index) => !dead.has(`ns[${namespace}]-policy[${name}]-rule[${index}]`),
  )
  return { ...policy, spec: { ...policy.spec, rules: left } }
}
