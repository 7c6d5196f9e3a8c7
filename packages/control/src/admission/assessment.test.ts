// SPDX-License-Identifier: Apache-2.0
import type { PolicyDocument } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import type { RemovalQuestion, ReviewQuestion } from "../proofs/question.js"
import { document, INVARIANT, MESH, OPEN, OPS, SHADOW, slowPolicies } from "../proofs/testing/documents.js"
import { policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { assessed } from "./assessment.js"

function stage(...documents: readonly PolicyDocument[]) {
  const { policies } = viewsStage()
  for (const { kind, metadata, spec } of documents) {
    if (kind === "MeshService") throw new TypeError("not here")
    policies.set(kind, policyOf(kind, `${metadata.namespace}/${metadata.name}`, spec))
  }
  const asked: (ReviewQuestion | RemovalQuestion)[] = []
  const late = {
    mesh: MESH,
    policies,
    prover: {
      review: async (question: ReviewQuestion | RemovalQuestion) => {
        asked.push(question)
        return { notDecided: "the time limit was reached" }
      },
    },
    cutOff: () => [],
    caughtUp: async () => false,
    isBeingDeleted: async () => false,
  }
  return { late, asked }
}

const create = { operation: "CREATE", object: OPEN, oldObject: undefined } as const
const NOT_DECIDED = expect.stringContaining("cannot verify what this changes: the time limit was reached")
const WARNED = { rejections: [], warnings: [NOT_DECIDED] }
const REJECTED = { rejections: [NOT_DECIDED], warnings: [] }
const always = [{ name: "reachable", to: [{ operation: { paths: ["/*"] } }] }]
const root = MESH.names.rootNamespace
const deny = document("AuthorizationPolicy", "stop", { action: "DENY", rules: [{}] })
const strict = document("PeerAuthentication", "strict", { mtls: { mode: "STRICT" } }, root)
const rootDeny = document("AuthorizationPolicy", "stop", { action: "DENY", rules: [{}] }, root)

it.each([
  ["rejects a change that might break an enforced invariant", [OPS, INVARIANT], OPEN, REJECTED],
  ["warns about a change that might break an invariant in shadow mode", [OPS, SHADOW], OPEN, WARNED],
  ["warns about a change that no invariant covers", [OPS], OPEN, WARNED],
  ["ignores an invariant of another namespace", [document("PolicyInvariant", "i", { always }, "bar")], OPEN, WARNED],
  [
    "rejects a change that might break an invariant of the root namespace",
    [document("PolicyInvariant", "i", { always }, root)],
    OPEN,
    REJECTED,
  ],
  ["stores a new DENY, which cannot break a `never`", [OPS, INVARIANT], deny, WARNED],
  ["rejects a new DENY that may break an `always`", [document("PolicyInvariant", "i", { always })], deny, REJECTED],
  [
    "stores an operator's DENY in spite of a tenant's `always`",
    [document("PolicyInvariant", "i", { always })],
    rootDeny,
    WARNED,
  ],
  [
    "rejects a DENY that loses a rule, which may break a `never`",
    [deny, INVARIANT],
    document("AuthorizationPolicy", "stop", { action: "DENY", rules: [{ to: [{ operation: { paths: ["/x"] } }] }] }),
    REJECTED,
  ],
  [
    "stores an ALLOW that loses a rule",
    [OPS, INVARIANT],
    document("AuthorizationPolicy", "ops", { rules: [] }),
    WARNED,
  ],
  ["stores STRICT", [OPS, INVARIANT], strict, WARNED],
  ["stores an operator's DENY, whatever tenants have", [...slowPolicies("foo"), INVARIANT], rootDeny, WARNED],
])("if the time budget runs out: %s", async (_, documents, after, expected) => {
  expect(await assessed({ ...create, object: after }, after, stage(...documents).late)).toEqual(expected)
})

it("does not prove an update that does not change the meaning", async () => {
  const { late, asked } = stage(OPS, INVARIANT)
  const update = { operation: "UPDATE", object: OPEN, oldObject: OPEN } as const
  expect(await assessed(update, OPEN, late)).toEqual(WARNED)
  expect(asked).toMatchObject([{ changed: false }])
})
