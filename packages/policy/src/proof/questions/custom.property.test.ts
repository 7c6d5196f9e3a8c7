// SPDX-License-Identifier: Apache-2.0
// Whatever the providers of CUSTOM policies answer, no request contradicts an answer. The second evaluator judges each
// request once for every combination of answers.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { naiveDecide } from "../../authorization/testing/oracle.js"
import { compile, decide, explain } from "../../program.js"
import type { Attributes } from "../../request/attributes.js"
import type { AuthorizationPolicy } from "../../resources/document.js"
import { anyIssuer, mesh, pairs, possible, workload } from "../testing/sets.js"
import { assertUntilSeen } from "../testing/until-seen.js"
import { compareSets } from "./compare.js"
import { checkInvariants } from "./invariants.js"
import { reachOf } from "./reach.js"

const LIMITS = { steps: 300_000 }
const OPTIONS = { now: 1_000, limits: LIMITS }
const requests = fc.array(possible, { minLength: 20, maxLength: 20 })

/** The providers that deny, for each combination of answers. */
const ANSWERS = [[], ["p"], ["q"], ["p", "q"]]

/**
 * Enforces all policies and makes those that deny ask a provider instead: the first asks `p`, the next `q`, and so on.
 */
const pending = (set: readonly AuthorizationPolicy[], first: number): readonly AuthorizationPolicy[] => {
  let next = first
  return set.map(policy => {
    const { annotations: _, ...metadata } = policy.metadata
    const spec = { ...policy.spec, enforcement: "Enforce" } as const
    if (spec.action !== "DENY") return { ...policy, metadata, spec }
    const provider = { name: ["p", "q"][next++ % 2] ?? "" }
    return { ...policy, metadata, spec: { ...spec, action: "CUSTOM", provider } }
  })
}

const sets = fc
  .tuple(pairs, fc.nat({ max: 1 }), fc.nat({ max: 1 }))
  .map(([[before, after], one, two]) => [pending(before, one), pending(after, two)] as const)

/** The policies as if the providers in `denying` denied every request they are asked about, and the others none. */
function answered(set: readonly AuthorizationPolicy[], denying: readonly string[]): readonly AuthorizationPolicy[] {
  return set.flatMap((policy): readonly AuthorizationPolicy[] => {
    const { provider, action: _, ...spec } = policy.spec
    if (provider === undefined) return [policy]
    return denying.includes(provider.name) ? [{ ...policy, spec: { ...spec, action: "DENY" } }] : []
  })
}

const isAllowed = (set: readonly AuthorizationPolicy[], request: Attributes, denying: readonly string[]): boolean =>
  naiveDecide(answered(set, denying), request, mesh).verdict === "allow"

const verdicts = (set: readonly AuthorizationPolicy[], request: Attributes): readonly boolean[] =>
  ANSWERS.map(denying => isAllowed(set, request, denying))

it("allows only what no provider can deny, and denies what no provider can allow", {
  timeout: 180_000 * inject("effort"),
}, () => {
  const seen = { custom: 0, other: 0 }
  const property = fc.property(sets, requests, ([set], some) => {
    const program = compile(set, workload, mesh)
    for (const request of some) {
      const decision = decide(program, request)
      const could = verdicts(set, request)
      expect(decision.verdict === "allow").toBe(could.every(Boolean))
      expect(decision.stage === "custom").toBe(new Set(could).size > 1)
      expect(explain(program, request)).toMatchObject({ verdict: decision.verdict, stage: decision.stage })
      seen[decision.stage === "custom" ? "custom" : "other"]++
    }
  })
  assertUntilSeen(property, { numRuns: 20 * inject("effort") }, seen, "custom", "other")
})

it("never reports sets as equal that decide differently after a provider's answer", {
  timeout: 180_000 * inject("effort"),
}, () => {
  const seen = { equal: 0, different: 0, undecided: 0, custom: 0 }
  const property = fc.property(sets, requests, ([before, after], some) => {
    const { result, changes } = compareSets([anyIssuer, ...before], [anyIssuer, ...after], workload, mesh, OPTIONS)
    seen[result]++
    if (changes.some(({ from, to }) => from === "custom" || to === "custom")) seen.custom++
    if (result !== "equal") return
    for (const request of some) expect(verdicts(after, request)).toEqual(verdicts(before, request))
  })
  assertUntilSeen(property, { numRuns: 20 * inject("effort") }, seen, "equal", "different", "custom")
})

it("lists everything that a provider can allow, with the provider", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { depends: 0, sure: 0 }
  const property = fc.property(sets, requests, ([set], some) => {
    const { ways, undecided } = reachOf([anyIssuer, ...set], workload, mesh, {}, OPTIONS)
    if (undecided !== undefined) return
    const named = new Set(ways.flatMap(({ providers }) => providers))
    seen[named.size > 0 ? "depends" : "sure"]++
    for (const request of some) {
      const could = verdicts(set, request)
      if (could.some(Boolean)) expect(ways).not.toEqual([])
      if (new Set(could).size > 1) expect([...named]).not.toEqual([])
    }
  })
  assertUntilSeen(property, { numRuns: 20 * inject("effort") }, seen, "depends", "sure")
})

it("never says that an invariant holds if a provider can break it", { timeout: 180_000 * inject("effort") }, () => {
  const seen = { never: 0, always: 0 }
  const property = fc.property(sets, requests, ([set], some) => {
    const documents = [anyIssuer, ...set]
    for (const holds of ["never", "always"] as const) {
      const invariant = {
        apiVersion: "security.merlon.dev/v1alpha3",
        kind: "PolicyInvariant",
        metadata: { name: "i", namespace: workload.namespace },
        spec: { [holds]: [{ name: "s", to: [{ operation: { paths: ["/a*"] } }] }] },
      } as const
      const [checked] = checkInvariants([invariant], documents, [workload], mesh, OPTIONS)
      if (checked?.result.verdict !== "holds") continue
      seen[holds]++
      for (const request of some) {
        if (request.http?.path.startsWith("/a") !== true) continue
        expect(new Set(verdicts(set, request))).toEqual(new Set([holds === "always"]))
      }
    }
  })
  assertUntilSeen(property, { numRuns: 20 * inject("effort") }, seen, "never", "always")
})
