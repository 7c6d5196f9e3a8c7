// SPDX-License-Identifier: Apache-2.0
import type { PolicyDocument } from "@merlon/policy"
import { expect, it } from "vitest"
import { Answering } from "../proofs/answering.js"
import type { NotDecided } from "../proofs/prover.js"
import { document, INVARIANT, MESH, newsOf, OPS, SHADOW } from "../proofs/testing/documents.js"
import { policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { assessedDeletion, CLUSTER_DELETERS } from "./deletion.js"
import type { AdmissionRequest } from "./review.js"
import { question } from "./testing/requests.js"

function stage(documents: readonly PolicyDocument[], more: { going?: boolean; late?: NotDecided } = {}) {
  const { policies } = viewsStage()
  for (const { kind, metadata, spec } of documents) {
    if (kind === "MeshService") throw new TypeError("not here")
    policies.set(kind, policyOf(kind, `${metadata.namespace}/${metadata.name}`, spec))
  }
  const answering = new Answering(MESH)
  answering.take(newsOf(...documents))
  return {
    mesh: MESH,
    policies,
    prover: {
      review: async (asked: Parameters<Answering["answer"]>[0]) =>
        more.late ?? (answering.answer(asked, () => false) as { refusals: string[]; warnings: string[] }), // of a removal
    },
    cutOff: () => ["somebody is cut off"],
    caughtUp: async () => false,
    isGoing: async () => more.going === true,
  }
}

/** As the API server asks: the object that is there, and no new one; no name where many are deleted at once. */
function deletionOf(policy: PolicyDocument, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const { kind, metadata } = policy
  return question(policy, {
    ...{ operation: "DELETE", kind, namespace: metadata.namespace, name: metadata.name, object: null },
    ...{ oldObject: policy, ...more },
  })
}

const BROKEN = expect.stringMatching(/^`never: only ops` of PolicyInvariant `foo\/admin` is broken on `foo\/web`: GET /)
const NEWLY = expect.stringMatching(/^this newly allows /)
const CUT = "somebody is cut off"
const NOTHING = { refusals: [], warnings: [] }
const LATE = { notDecided: "the time is used up" }
const UNDECIDED = expect.stringContaining("is not decided: the time is used up")
const DENY = document("AuthorizationPolicy", "stop", { action: "DENY", rules: [{}] })
const ALWAYS = document("PolicyInvariant", "open", {
  always: [{ name: "open", to: [{ operation: { paths: ["/a"] } }] }],
})

it.each([
  [
    "what keeps a statement is refused to go",
    [OPS, INVARIANT],
    OPS,
    {},
    { refusals: [BROKEN], warnings: [CUT, NEWLY, NEWLY] },
  ],
  [
    "so it is where many are deleted at once, and only the object has a name",
    [OPS, INVARIANT],
    OPS,
    { name: "" },
    { refusals: [BROKEN], warnings: [CUT, NEWLY, NEWLY] },
  ],
  [
    "of a statement in shadow it is warned",
    [OPS, SHADOW],
    OPS,
    {},
    { refusals: [], warnings: [CUT, BROKEN, NEWLY, NEWLY] },
  ],
  [
    "without a statement it is told what is newly allowed",
    [OPS],
    OPS,
    {},
    { refusals: [], warnings: [CUT, NEWLY, NEWLY] },
  ],
  ["what is not known here may go", [INVARIANT], OPS, {}, NOTHING],
  ["a policy that stands beside another may go", [OPS, DENY, INVARIANT], OPS, {}, { refusals: [], warnings: [CUT] }],
  ...CLUSTER_DELETERS.map(user => [`what ${user} takes away goes`, [OPS, INVARIANT], OPS, { user }, NOTHING] as const),
] as const)("%s", async (_, documents, policy, more, expected) => {
  expect(await assessedDeletion(deletionOf(policy, more), stage(documents))).toEqual(expected)
})

it("lets everything go with its namespace, whoever deletes it", async () => {
  expect(await assessedDeletion(deletionOf(OPS), stage([OPS, INVARIANT], { going: true }))).toEqual(NOTHING)
})

it.each([
  ["what may break a statement stays", [OPS, INVARIANT], OPS, { refusals: [UNDECIDED], warnings: [CUT] }],
  ["a DENY may go where something is to get in", [DENY, ALWAYS], DENY, { refusals: [], warnings: [CUT, UNDECIDED] }],
  ["an ALLOW may not", [OPS, ALWAYS], OPS, { refusals: [UNDECIDED], warnings: [CUT] }],
] as const)("where nobody can tell in time: %s", async (_, documents, policy, expected) => {
  expect(await assessedDeletion(deletionOf(policy), stage(documents, { late: LATE }))).toEqual(expected)
})
