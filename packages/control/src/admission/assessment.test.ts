// SPDX-License-Identifier: Apache-2.0
import { meshConfig, type PolicyDocument, validate } from "@merlon/policy"
import { expect, it } from "vitest"
import { assessed } from "./assessment.js"
import { PROOF_BUDGET_MS, ProofShares } from "./proof-shares.js"

const mesh = meshConfig()
const workloads = [{ namespace: "foo", name: "web", labels: { app: "web" } }]

function document(kind: string, name: string, spec: object): PolicyDocument {
  const value = { apiVersion: "security.merlon.dev/v1alpha3", kind, metadata: { name, namespace: "foo" }, spec }
  const { document: read, faults } = validate(value, mesh.names)
  if (read === undefined) throw new RangeError(faults[0]?.message)
  return read
}

const to = [{ operation: { paths: ["/admin/*"] } }]
const never = [{ name: "only ops", from: [{ source: { notNamespaces: ["ops"] } }], to }]
const ops = document("AuthorizationPolicy", "ops", { rules: [{ from: [{ source: { namespaces: ["ops"] } }] }] })
const open = document("AuthorizationPolicy", "open", { rules: [{ to }] })
const invariant = document("PolicyInvariant", "admin", { never })
const shadow = document("PolicyInvariant", "admin", { never, enforcement: "Shadow" })
const create = { operation: "CREATE", object: open, oldObject: undefined } as const
const everything = (...documents: PolicyDocument[]) => ({
  mesh,
  everything: () => ({ documents, workloads }),
  shares: new ProofShares(),
})

it("refuses what breaks a statement, with the request and the rule that lets it through", () => {
  expect(assessed(create, open, everything(ops, invariant)).refusals).toEqual([
    expect.stringMatching(
      /`never: only ops` .* is broken on `foo\/web`: GET \/admin\/ .* is let through by rule 0 of `foo\/open`/,
    ),
  ])
})

it("warns instead, where the statement is in shadow, and says what is newly allowed", () => {
  const { refusals, warnings } = assessed(create, open, everything(ops, shadow))
  expect(refusals).toEqual([])
  expect(warnings).toEqual([
    expect.stringContaining("is broken"),
    expect.stringContaining("this newly allows /admin/*"),
  ])
})

it("says nothing of a change that means the same", () => {
  const update = { operation: "UPDATE", object: open, oldObject: open } as const
  expect(assessed(update, open, everything(ops, open, invariant))).toEqual({ refusals: [], warnings: [] })
})

it("refuses what is not decided in time, and only warns without a statement that must hold", () => {
  let at = 0
  const late = { monotonic: () => (at += 1_000) }
  expect(assessed(create, open, { ...everything(ops, invariant), ...late }).refusals).toEqual([
    expect.stringContaining("is not decided"),
  ])
  expect(assessed(create, open, { ...everything(ops), ...late })).toEqual({
    refusals: [],
    warnings: [expect.stringContaining("is not decided")],
  })
})

it("searches no further for a namespace that has had its share, and as ever for another", () => {
  const shares = new ProofShares()
  const options = { ...everything(ops, shadow), shares, monotonic: () => 0 }
  shares.spend("tenant", PROOF_BUDGET_MS + 1, 0)
  expect(assessed(create, open, options).warnings).toContainEqual(expect.stringContaining("is broken"))
  shares.spend("foo", PROOF_BUDGET_MS + 1, 0)
  expect(assessed(create, open, options).warnings).toEqual([
    expect.stringContaining("is not decided"),
    expect.stringContaining("is not decided"),
  ])
})
