// SPDX-License-Identifier: Apache-2.0
// Assesses a policy change while the user waits: which invariants it would break, what it would newly allow, which
// callers it would cut off, and its findings. Fail closed: an invariant that could not be checked, for lack of time or
// because of a bug, does not count as holding.

import type { MeshConfig } from "@merlon/policy/mesh"
import { type Assessment, couldBreak, type PolicyStep } from "@merlon/policy/proof"
import type { PolicyDocument } from "@merlon/policy/resources"
import { meansTheSame } from "../policies/meaning.js"
import { type PolicySource, policyKey } from "../policies/stored-policy.js"
import type { NotDecided, Prover } from "../proofs/prover.js"
import type { AdmissionRequest } from "./review.js"

export type ChangedPolicy = Omit<PolicyStep, "documents">

export interface AssessmentOptions {
  readonly mesh: MeshConfig
  readonly policies: Pick<PolicySource, "items">
  readonly prover: Pick<Prover, "review">
  /** Observed callers that the change would cut off, in sentences. */
  readonly cutOff: (change: ChangedPolicy) => readonly string[]
  /** Whether our copy of the invariants was out of date and no longer is, so that a second review is worthwhile. */
  readonly caughtUp: () => Promise<boolean>
  /** Whether the namespace is being deleted, as the API server currently reports. */
  readonly isBeingDeleted: (namespace: string) => Promise<boolean>
}

export async function assessed(
  { operation, object, oldObject }: Pick<AdmissionRequest, "operation" | "object" | "oldObject">,
  after: PolicyDocument,
  options: AssessmentOptions,
): Promise<Assessment> {
  const { mesh } = options
  const { kind, metadata } = after
  const changed = operation !== "UPDATE" || !meansTheSame(object, oldObject, mesh.names)
  const answer = await reviewed({ ask: "review", after, changed }, options)
  const before = inForce(policyKey(kind, metadata.namespace, metadata.name), options)
  return changed ? assessmentOf(answer, { before, after }, options) : knownAssessment(answer)
}

/** Drops rejections that are based on an invariant which is no longer stored. */
export async function reviewed(
  question: Parameters<Prover["review"]>[0],
  { prover, caughtUp }: AssessmentOptions,
): Promise<Assessment | NotDecided> {
  const answer = await prover.review(question)
  const rejects = "rejections" in answer && answer.rejections.length > 0
  return rejects && (await caughtUp()) ? prover.review(question) : answer
}

/** The findings, or the fact that the result is unknown. */
export function assessmentOf(
  answer: Assessment | NotDecided,
  change: ChangedPolicy,
  options: AssessmentOptions,
): Assessment {
  const cut = options.cutOff(change)
  // Fail closed: it is unknown whether the invariants still hold.
  if ("notDecided" in answer && mayBreak(change, options)) return { rejections: [undecided(answer)], warnings: cut }
  const { rejections, warnings } = knownAssessment(answer)
  return { rejections, warnings: [...cut, ...warnings] }
}

export function inForce(key: string, { policies }: Pick<AssessmentOptions, "policies">): PolicyDocument | undefined {
  return policies.items.get(key)?.inForce
}

function knownAssessment(answer: Assessment | NotDecided): Assessment {
  if (!("notDecided" in answer)) return answer
  return { rejections: [], warnings: [`${undecided(answer)}; run \`merlonctl diff\`, which takes longer`] }
}

function undecided({ notDecided }: NotDecided): string {
  return `cannot verify what this changes: ${notDecided}`
}

function mayBreak(change: ChangedPolicy, { mesh, policies }: AssessmentOptions): boolean {
  const documents = [...policies.items.values()].flatMap(({ inForce: stored, deleted, object }) => {
    const isLeaving = deleted !== undefined || object.metadata.deletionTimestamp !== undefined
    return stored === undefined || isLeaving ? [] : stored
  })
  return documents.some(
    stored =>
      stored.kind === "PolicyInvariant" &&
      stored.spec.enforcement !== "Shadow" &&
      couldBreak({ ...change, documents }, stored, mesh),
  )
}
