// SPDX-License-Identifier: Apache-2.0
// Compares what `narrows` recognises with the evaluator, on random changes among random policies.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { policies } from "../authorization/testing/arbitraries.js"
import { rejectedByMode } from "../judge.js"
import { compile, decide, type Program } from "../program.js"
import type { Attributes } from "../request/attributes.js"
import type { AuthorizationPolicy, PeerAuthentication, PolicyDocument } from "../resources/document.js"
import { narrows } from "./monotone.js"
import { anyIssuer, mesh, possible } from "./testing/sets.js"
import { assertUntilSeen } from "./testing/until-seen.js"

const WORKLOADS = [
  { namespace: "foo", name: "web", labels: { app: "web", tier: "a" }, services: ["web"] },
  { namespace: "foo", name: "api", labels: { app: "api" }, services: ["api"] },
  { namespace: "bar", name: "web", labels: { app: "web" }, services: [] },
]
const SCOPES: readonly AuthorizationPolicy["spec"][] = [
  {},
  { selector: { matchLabels: { app: "web" } } },
  { selector: { matchLabels: { app: "web", tier: "a" } } },
  { targetRefs: [{ kind: "Service", name: "web" }] },
]
const namespace = fc.constantFrom("foo", mesh.names.rootNamespace)
const scope = fc.constantFrom(...SCOPES).map(value => ({ ...value }))
const mode = fc.constantFrom("UNSET", "DISABLE", "PERMISSIVE", "STRICT", "STRICT", "PERMISSIVE")

const authorization: fc.Arbitrary<AuthorizationPolicy> = fc
  .tuple(policies, fc.constantFrom("ALLOW", "DENY", "AUDIT"), scope, namespace)
  .filter(([set]) => set.length > 0)
  .map(([[first], action, where, place]) => {
    const { metadata, spec, ...rest } = first ?? expect.unreachable()
    return {
      ...rest,
      metadata: { ...metadata, namespace: place },
      spec: { ...spec, ...where, action },
    }
  })
const peer: fc.Arbitrary<PeerAuthentication> = fc
  .record({ scope, namespace, mode, port: fc.option(mode), shadow: fc.boolean(), age: fc.nat({ max: 9 }) })
  .map(({ scope: where, namespace: place, mode: base, port, shadow, age }) => ({
    apiVersion: "security.merlon.dev/v1alpha3",
    kind: "PeerAuthentication",
    metadata: { name: "p", namespace: place, creationTimestamp: `2026-01-0${Math.max(1, age)}T00:00:00Z` },
    spec: {
      ...where,
      mtls: { mode: base },
      ...(port === null || Object.keys(where).length === 0 ? {} : { portLevelMtls: { "80": { mode: port } } }),
      ...(shadow && age > 7 ? { enforcement: "Shadow" as const } : {}),
    },
  }))
const document: fc.Arbitrary<PolicyDocument> = fc.oneof(authorization, peer)

/** Another version of a policy: a different one, a slightly reduced one, or none. */
const version = (one: PolicyDocument): fc.Arbitrary<PolicyDocument | undefined> => {
  const same = (other: PolicyDocument): PolicyDocument => ({ ...other, metadata: one.metadata })
  const edited: fc.Arbitrary<PolicyDocument | undefined>[] = [fc.constant(undefined)]
  if (one.kind === "AuthorizationPolicy") {
    const rules = one.spec.rules ?? []
    const withRules = (list: typeof rules) =>
      fc.constant<PolicyDocument>({ ...one, spec: { ...one.spec, rules: list } })
    const when = [{ key: "source.ip", values: ["10.0.0.0/8"] }]
    edited.push(
      authorization.map(same),
      withRules(rules.slice(1)),
      withRules([...rules, {}]),
      withRules(rules.map(rule => ({ ...rule, when: [...(rule.when ?? []), ...when] }))),
      withRules(rules.map(rule => ({ ...rule, to: (rule.to ?? []).slice(1) }))),
      withRules(rules.map(({ to = [], when = [] }) => ({ to, when }))),
      scope.map(where => ({ ...one, spec: { action: one.spec.action, rules, ...where } }) as PolicyDocument),
      fc.constantFrom("ALLOW", "DENY", "AUDIT").map(action => ({ ...one, spec: { ...one.spec, action } })),
    )
  } else
    edited.push(
      peer.map(same),
      peer.map(({ spec }) => same({ ...one, spec: { ...one.spec, mtls: spec.mtls } } as PolicyDocument)),
    )
  return fc.oneof(...edited)
}
const changes = fc
  .tuple(document, fc.array(document, { maxLength: 3 }), fc.boolean())
  .chain(([one, others, reversed]) =>
    version(one).map(other => ({
      before: reversed ? other : one,
      after: reversed ? one : other,
      others: others.map((item, index) => ({ ...item, metadata: { ...item.metadata, name: `o${index}` } })),
    })),
  )

const allowed = (program: Program, attributes: Attributes): boolean =>
  rejectedByMode(program, attributes) === undefined && decide(program, attributes).verdict === "allow"

it("never recognises a change that newly allows a request as narrower", {
  timeout: 180_000 * inject("effort"),
}, () => {
  const seen = { narrows: 0, narrower: 0, other: 0 }
  const property = fc.property(changes, fc.array(possible, { minLength: 30, maxLength: 30 }), (change, requests) => {
    const isNarrower = narrows(change, change.others, mesh)
    seen[isNarrower ? "narrows" : "other"]++
    if (!isNarrower) return
    for (const workload of WORKLOADS) {
      const [was, is] = [change.before, change.after].map(one =>
        compile([anyIssuer, ...change.others, ...(one === undefined ? [] : [one])], workload, mesh),
      )
      for (const request of requests) {
        if (was === undefined || is === undefined) continue
        const [old, young] = [allowed(was, request), allowed(is, request)]
        if (old && !young) seen.narrower++
        expect(young && !old).toBe(false)
      }
    }
  })
  assertUntilSeen(property, { numRuns: 1_500 * inject("effort") }, seen, "narrows", "narrower", "other")
})
