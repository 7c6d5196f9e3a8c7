// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { meshConfig } from "../../mesh/config.js"
import type { AuthorizationPolicySpec } from "../../resources/authorization-policy/definition.js"
import type { AuthorizationPolicy, PolicyDocument, PolicyInvariant } from "../../resources/document.js"
import { assessChange, couldBreak } from "./assess-change.js"

const apiVersion = "security.merlon.dev/v1alpha3"
const metadata = (name: string) => ({ name, namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" })
const policy = (name: string, spec: AuthorizationPolicySpec): AuthorizationPolicy => ({
  apiVersion,
  kind: "AuthorizationPolicy",
  metadata: metadata(name),
  spec,
})
const admin = [{ operation: { paths: ["/admin/*"] } }]
const invariant = (enforcement: "Enforce" | "Shadow" = "Enforce"): PolicyInvariant => ({
  apiVersion,
  kind: "PolicyInvariant",
  metadata: metadata("admin"),
  spec: { enforcement, never: [{ name: "only ops", from: [{ source: { notNamespaces: ["ops"] } }], to: admin }] },
})
const ops = policy("ops", { rules: [{ from: [{ source: { namespaces: ["ops"] } }] }] })
const open = policy("open", { rules: [{ to: admin }] })
const workloads = [
  { namespace: "foo", name: "web", labels: {} },
  { namespace: "foo", name: "api", labels: {} },
]
const assess = (
  documents: readonly PolicyDocument[],
  before: PolicyDocument | undefined,
  after: PolicyDocument | undefined,
  steps = 1_000_000,
) => assessChange({ documents, before, after }, workloads, meshConfig(), { now: 1_000, limits: { steps } })

const BROKEN =
  "`never: only ops` of PolicyInvariant `foo/admin` is broken on 2 workloads (`foo/web` …): GET /admin/ from cluster.local/ns/default/sa/default is allowed by rule 0 of `foo/open`"

describe("a change that breaks an invariant", () => {
  it("is rejected with the request and the rule", () => {
    expect(assess([invariant(), ops], undefined, open).rejections).toEqual([BROKEN])
  })

  it("is warned about if the invariant is in shadow mode", () => {
    const { rejections, warnings } = assess([invariant("Shadow"), ops], undefined, open)
    expect(rejections).toEqual([])
    expect(warnings[0]).toBe(BROKEN)
  })

  it("is rejected if it removes the policy that kept the invariant", () => {
    const { rejections } = assess([invariant(), ops], ops, undefined)
    expect(rejections).toHaveLength(1)
    expect(rejections[0]).toContain("because nothing denies it")
  })

  it("is never a new DENY for a `never`, and needs no search", () => {
    const deny = policy("stop", { action: "DENY", rules: [{}] })
    expect(assess([invariant(), ops], undefined, deny, 5).rejections).toEqual([])
    expect(
      assess([invariant(), ops, deny], deny, policy("stop", { action: "ALLOW", rules: [{}] })).rejections,
    ).toHaveLength(1)
  })

  it("is never a removed DENY for an `always`", () => {
    const always = [{ name: "reachable", to: [{ operation: { paths: ["/*"] } }] }]
    const deny = policy("stop", { action: "DENY", rules: [{}] })
    const reachable = { ...invariant(), spec: { always } }
    const mesh = meshConfig()
    expect(assess([reachable, deny], deny, undefined, 5).rejections).toEqual([])
    const without = (before: PolicyDocument) => ({ documents: [ops, open, deny], before, after: undefined })
    expect(couldBreak(without(deny), reachable, mesh)).toBe(false)
    expect(couldBreak(without(ops), reachable, mesh)).toBe(true)
    expect(couldBreak(without(deny), invariant(), mesh)).toBe(true)
  })

  it("causes a warning if an operator breaks a namespace's `always`", () => {
    const always = [{ name: "reachable", to: [{ operation: { paths: ["/*"] } }] }]
    const reachable = { ...invariant(), spec: { always } }
    const deny = policy("stop", { action: "DENY", rules: [{}] })
    const everywhere = { ...deny, metadata: { ...deny.metadata, namespace: meshConfig().names.rootNamespace } }
    expect(assess([reachable], undefined, deny).rejections).toHaveLength(1)
    const { rejections, warnings } = assess([reachable], undefined, everywhere)
    expect([rejections, warnings]).toEqual([[], [expect.stringContaining("`always: reachable`")]])
  })

  it("is rejected if the time budget runs out", () => {
    const { rejections } = assess([invariant(), ops], undefined, open, 5)
    expect(rejections[0]).toContain("is not decided")
  })
})

it("accepts changes, and fixes, while an invariant is already broken", () => {
  const other = policy("other", { rules: [{ to: [{ operation: { paths: ["/x"] } }] }] })
  expect(assess([invariant(), ops, open], undefined, other).rejections).toEqual([])
  expect(assess([invariant(), ops, open], open, undefined).rejections).toEqual([])
})

it("accepts an invariant that does not hold yet, and reports that", () => {
  const { rejections, warnings } = assess([ops, open], undefined, invariant())
  expect(rejections).toEqual([])
  expect(warnings).toEqual([`already now, ${BROKEN}`])
})

it("reports what a change newly allows, and where", () => {
  const { warnings } = assess([ops], undefined, open)
  expect(warnings).toEqual([
    "this newly allows /admin/* from any caller, except what rule 0 of `foo/ops` matches, on 2 workloads (`foo/web` …)",
  ])
  expect(
    assess([ops], undefined, policy("none", { rules: [{ from: [{ source: { namespaces: ["ops"] } }], to: admin }] }))
      .warnings,
  ).toEqual([])
})

it("reports that it is undecided if time runs out", () => {
  expect(assess([ops], undefined, open, 5).warnings[0]).toMatch(/^what else this changes is not decided/)
})
