// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { meshConfig } from "../mesh/config.js"
import { compile, decide, explain } from "../program.js"
import { issuers, policies, requests } from "./testing/arbitraries.js"
import { naiveAudit, naiveDecide } from "./testing/oracle.js"
import { naming, workload } from "./testing/requests.js"

const ours = meshConfig({ trustDomainAliases: ["old.td"] })
const meshes = fc.constantFrom(ours, { ...ours, dialect: "istio" as const })
/** On a busy machine it does fewer runs instead of timing out. */
const runs = { numRuns: 400 * inject("effort"), interruptAfterTimeLimit: 15_000 * inject("effort") }

it("decides like the naive evaluator", () => {
  const seen = new Map<string, number>()
  const asked = fc.array(requests, { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(meshes, policies, issuers, issuers, asked, (mesh, documents, named, shadowed, attributes) => {
      const program = compile([...documents, naming(named), naming(shadowed, "Shadow")], workload, mesh)
      const enforced = documents.filter(({ spec }) => spec.enforcement !== "Shadow")
      for (const request of attributes) {
        const decision = decide(program, request)
        const { verdict, stage, rule } = decision
        expect({ verdict, stage, rule: rule?.id }).toEqual(naiveDecide(enforced, request, mesh, named))
        expect(decision.audit?.id).toBe(naiveAudit(enforced, request, mesh, named))
        if (enforced.length < documents.length) {
          const { verdict, stage, rule } = decision.shadow ?? {}
          const all = [...named, ...shadowed]
          expect({ verdict, stage, rule: rule?.id }).toEqual(naiveDecide(documents, request, mesh, all))
        } else expect(decision.shadow).toBeUndefined()
        const outcome = `${stage}/${verdict}`
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
      }
    }),
    runs,
  )
  // If one of these were rare, agreement would mean little.
  const decisions = [...seen.values()].reduce((sum, count) => sum + count, 0)
  for (const outcome of ["deny/deny", "allow/allow", "allow/deny", "default/allow"]) {
    expect(seen.get(outcome) ?? 0, outcome).toBeGreaterThan(decisions / 100)
  }
})

it("explains what it decides", () => {
  fc.assert(
    fc.property(meshes, policies, issuers, issuers, requests, (mesh, documents, named, shadowed, request) => {
      const program = compile([...documents, naming(named), naming(shadowed, "Shadow")], workload, mesh)
      const { verdict, stage, policy, rule, audit, shadow, nearest } = decide(program, request)
      const { policies: traced, protocol, ...explained } = explain(program, request)
      expect(explained).toEqual({ verdict, stage, policy, rule, audit, shadow, nearest })
      expect(traced.length).toBe(documents.length)
      expect(protocol).toBe(request.http === undefined ? "tcp" : "http")
    }),
    runs,
  )
})

it("names a field that really fails for every ALLOW miss", () => {
  fc.assert(
    fc.property(meshes, policies, requests, (mesh, documents, request) => {
      const program = compile(documents, workload, mesh)
      const { nearest } = decide(program, request)
      if (nearest === undefined) return
      const trace = explain(program, request).policies.flatMap(({ rules }) => rules)
      const rule = trace.find(({ rule }) => rule.id === nearest.rule.id)
      const criteria = [...(rule?.from ?? []), ...(rule?.to ?? []), ...(rule ? [rule.when] : [])].flatMap(
        clause => clause.criteria,
      )
      expect(criteria.find(({ field }) => field === nearest.failed.field)?.holds).toBe(false)
    }),
    runs,
  )
})
