// SPDX-License-Identifier: Apache-2.0
import type { PolicyDocument } from "@merlon/policy/resources"
import { expect, it } from "vitest"
import { Answering } from "../proofs/answering.js"
import type { NotDecided } from "../proofs/prover.js"
import { document, INVARIANT, MESH, newsOf, OPS, SHADOW } from "../proofs/testing/documents.js"
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
const UNDECIDED = expect.stringContaining("cannot verify what this changes: the time is used up")
const DENY = document("AuthorizationPolicy", "stop", { action: "DENY", rules: [{}] })
const OTHER = document("AuthorizationPolicy", "other", { rules: [{ to: [{ operation: { paths: ["/b"] } }] }] })
const ALWAYS = document("PolicyInvariant", "open", {
  always: [{ name: "open", to: [{ operation: { paths: ["/a"] } }] }],
})

it.each([
  [
    "what keeps an invariant is refused to go",
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
    "of an invariant in shadow it is warned",
    [OPS, SHADOW],
    OPS,
    {},
    { refusals: [], warnings: [CUT, BROKEN, NEWLY, NEWLY] },
  ],
  [
    "without an invariant it is told what is newly allowed",
    [OPS],
    OPS,
    {},
    { refusals: [], warnings: [CUT, NEWLY, NEWLY] },
  ],
  ["what is not known here may go", [INVARIANT], OPS, {}, NOTHING],
  ["a policy that stands beside another may go", [OPS, DENY, INVARIANT], OPS, {}, { refusals: [], warnings: [CUT] }],
  ["what goes with its namespace goes", [OPS, INVARIANT], OPS, { user: NAMESPACE_CONTROLLER }, NOTHING],
  ...["system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"].map(
    user =>
      [
        `what keeps an invariant stays, also where ${user} deletes it for an owner that is gone`,
        [OPS, INVARIANT],
        OPS,
        { user },
        { refusals: [BROKEN], warnings: [CUT, NEWLY, NEWLY] },
      ] as const,
  ),
] as const)("%s", async (_, documents, policy, more, expected) => {
  expect(await assessedDeletion(deletionOf(policy, more), stage(documents))).toEqual(expected)
})

it("lets everything go with its namespace, for any user", async () => {
  expect(await assessedDeletion(deletionOf(OPS), stage([OPS, INVARIANT], { going: true }))).toEqual(NOTHING)
})

it.each([
  ["what may break an invariant stays", [OPS, INVARIANT], OPS, { refusals: [UNDECIDED], warnings: [CUT] }],
  ["a DENY may go where something is to get in", [DENY, ALWAYS], DENY, { refusals: [], warnings: [CUT, UNDECIDED] }],
  ["so may the only ALLOW", [OPS, ALWAYS], OPS, { refusals: [], warnings: [CUT, UNDECIDED] }],
  ["an ALLOW beside another may not", [OPS, OTHER, ALWAYS], OPS, { refusals: [UNDECIDED], warnings: [CUT] }],
] as const)("if the time budget runs out: %s", async (_, documents, policy, expected) => {
  expect(await assessedDeletion(deletionOf(policy), stage(documents, { late: LATE }))).toEqual(expected)
})

it("rests no invariant on a policy that is being deleted", async () => {
  const [first, second] = ["first", "second"].map(name => document("AuthorizationPolicy", name, OPS.spec))
  if (first === undefined || second === undefined) throw new Error("there are two")
  const news = newsOf(first, second, INVARIANT)
  const removal = (answering: Answering) =>
    answering.answer({ ask: "removal", key: "AuthorizationPolicy/foo/second", namespace: "foo" }, () => false)
  const answering = new Answering(MESH)
  answering.take(news)
  expect(removal(answering)).toMatchObject({ refusals: [] })
  answering.take({ ...news, documents: [["AuthorizationPolicy/foo/first", first, true]] })
  expect(removal(answering)).toMatchObject({ refusals: [BROKEN] })
})
