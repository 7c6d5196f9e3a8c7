// SPDX-License-Identifier: Apache-2.0
import type { PolicyDocument } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import { Answering } from "../proofs/answering.js"
import type { NotDecided } from "../proofs/prover.js"
import { changesOf, document, INVARIANT, MESH, OPS, SHADOW } from "../proofs/testing/documents.js"
import { policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { assessedDeletion } from "./deletion.js"
import { type AdmissionRequest, NAMESPACE_CONTROLLER } from "./review.js"
import { question } from "./testing/requests.js"

function stage(documents: readonly PolicyDocument[], more: { going?: boolean; late?: NotDecided } = {}) {
  const { policies } = viewsStage()
  for (const { kind, metadata, spec } of documents) {
    if (kind === "MeshService") throw new TypeError("not here")
    policies.set(kind, policyOf(kind, `${metadata.namespace}/${metadata.name}`, spec))
  }
  const answering = new Answering(MESH)
  answering.take(changesOf(...documents))
  return {
    mesh: MESH,
    policies,
    prover: {
      review: async (asked: Parameters<Answering["answer"]>[0]) =>
        more.late ?? (answering.answer(asked, () => false) as { rejections: string[]; warnings: string[] }), // for a removal
    },
    cutOff: () => ["somebody is cut off"],
    caughtUp: async () => false,
    isBeingDeleted: async () => more.going === true,
  }
}

/** As the API server sends it: with the old object and no new one; without a name if many are deleted at once. */
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
const NOTHING = { rejections: [], warnings: [] }
const LATE = { notDecided: "the time limit was reached" }
const UNDECIDED = expect.stringContaining("cannot verify what this changes: the time limit was reached")
const DENY = document("AuthorizationPolicy", "stop", { action: "DENY", rules: [{}] })
const OTHER = document("AuthorizationPolicy", "other", { rules: [{ to: [{ operation: { paths: ["/b"] } }] }] })
const ALWAYS = document("PolicyInvariant", "open", {
  always: [{ name: "open", to: [{ operation: { paths: ["/a"] } }] }],
})

it.each([
  [
    "rejects the deletion of a policy that an invariant needs",
    [OPS, INVARIANT],
    OPS,
    {},
    { rejections: [BROKEN], warnings: [CUT, NEWLY, NEWLY] },
  ],
  [
    "rejects it in a bulk deletion, where only the object has a name",
    [OPS, INVARIANT],
    OPS,
    { name: "" },
    { rejections: [BROKEN], warnings: [CUT, NEWLY, NEWLY] },
  ],
  [
    "warns if the invariant is in shadow mode",
    [OPS, SHADOW],
    OPS,
    {},
    { rejections: [], warnings: [CUT, BROKEN, NEWLY, NEWLY] },
  ],
  [
    "warns about newly allowed requests without an invariant",
    [OPS],
    OPS,
    {},
    { rejections: [], warnings: [CUT, NEWLY, NEWLY] },
  ],
  ["allows the deletion of an unknown policy", [INVARIANT], OPS, {}, NOTHING],
  [
    "allows the deletion if another policy keeps the invariant",
    [OPS, DENY, INVARIANT],
    OPS,
    {},
    { rejections: [], warnings: [CUT] },
  ],
  ["allows deletions by the namespace controller", [OPS, INVARIANT], OPS, { user: NAMESPACE_CONTROLLER }, NOTHING],
  ...["system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"].map(
    user =>
      [
        `rejects it for ${user}, which deletes policies of deleted owners`,
        [OPS, INVARIANT],
        OPS,
        { user },
        { rejections: [BROKEN], warnings: [CUT, NEWLY, NEWLY] },
      ] as const,
  ),
] as const)("%s", async (_, documents, policy, more, expected) => {
  expect(await assessedDeletion(deletionOf(policy, more), stage(documents))).toEqual(expected)
})

it("allows every deletion in a namespace that is being deleted", async () => {
  expect(await assessedDeletion(deletionOf(OPS), stage([OPS, INVARIANT], { going: true }))).toEqual(NOTHING)
})

it.each([
  ["rejects a deletion that may break a `never`", [OPS, INVARIANT], OPS, { rejections: [UNDECIDED], warnings: [CUT] }],
  [
    "allows the deletion of a DENY under an `always`",
    [DENY, ALWAYS],
    DENY,
    { rejections: [], warnings: [CUT, UNDECIDED] },
  ],
  [
    "allows the deletion of the only ALLOW under an `always`",
    [OPS, ALWAYS],
    OPS,
    { rejections: [], warnings: [CUT, UNDECIDED] },
  ],
  [
    "rejects the deletion of one of two ALLOWs under an `always`",
    [OPS, OTHER, ALWAYS],
    OPS,
    { rejections: [UNDECIDED], warnings: [CUT] },
  ],
] as const)("if the time budget runs out: %s", async (_, documents, policy, expected) => {
  expect(await assessedDeletion(deletionOf(policy), stage(documents, { late: LATE }))).toEqual(expected)
})

it("does not rely on a policy that is being deleted for an invariant", async () => {
  const [first, second] = ["first", "second"].map(name => document("AuthorizationPolicy", name, OPS.spec))
  if (first === undefined || second === undefined) throw new Error("there are two")
  const changes = changesOf(first, second, INVARIANT)
  const removal = (answering: Answering) =>
    answering.answer({ ask: "removal", key: "AuthorizationPolicy/foo/second", namespace: "foo" }, () => false)
  const answering = new Answering(MESH)
  answering.take(changes)
  expect(removal(answering)).toMatchObject({ rejections: [] })
  answering.take({ ...changes, documents: [["AuthorizationPolicy/foo/first", first, true]] })
  expect(removal(answering)).toMatchObject({ rejections: [BROKEN] })
})
