// SPDX-License-Identifier: Apache-2.0
// What a change would break and what it would newly let through, by proof, while somebody waits: after a short time the
// answer is that it is not decided. A statement that must hold is not taken for held because of a fault of ours.

import { type Assessment, assessChange, type MeshConfig, type PolicyDocument, type ProofWorkload } from "@merlon/policy"
import { meansTheSame } from "../policies/meaning.js"
import type { ProofShares } from "./proof-shares.js"
import type { AdmissionRequest } from "./review.js"

export interface Everything {
  readonly documents: readonly PolicyDocument[]
  readonly workloads: readonly ProofWorkload[]
}

export interface AssessmentOptions {
  readonly mesh: MeshConfig
  /** All that is in the cluster, however much. */
  readonly everything: () => Everything
  readonly shares: ProofShares
  /** Milliseconds on a clock that only goes forward. */
  readonly monotonic?: () => number
}

const STEPS = 2_000_000

const NO_NEWS: Assessment = { refusals: [], warnings: [] }

export function assessed(
  { operation, object, oldObject }: Pick<AdmissionRequest, "operation" | "object" | "oldObject">,
  after: PolicyDocument,
  options: AssessmentOptions,
): Assessment {
  if (after.kind === "MeshService") return NO_NEWS
  if (operation === "UPDATE" && meansTheSame(object, oldObject, options.mesh.names)) return NO_NEWS
  const { shares, monotonic = () => performance.now() } = options
  const { namespace } = after.metadata
  const start = monotonic()
  try {
    return proven(after, start + shares.left(namespace, start), monotonic, options)
  } finally {
    const end = monotonic()
    shares.spend(namespace, end - start, end)
  }
}

function proven(
  after: PolicyDocument,
  deadline: number,
  monotonic: () => number,
  { mesh, everything }: AssessmentOptions,
): Assessment {
  const limits = { steps: STEPS, deadline, now: monotonic }
  const { documents, workloads } = everything()
  const before = documents.find(other => isSame(other, after))
  try {
    const now = Math.floor(Date.now() / 1000)
    return assessChange({ documents, before, after }, workloads, mesh, { limits, now })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    // Fail closed: nobody knows whether the statements still hold.
    const held = documents.some(({ kind, spec }) => kind === "PolicyInvariant" && !isShadow(spec))
    const told = `what this changes could not be found out: ${reason}`
    return held ? { refusals: [told], warnings: [] } : { refusals: [], warnings: [told] }
  }
}

function isShadow(spec: object): boolean {
  return "enforcement" in spec && spec.enforcement === "Shadow"
}

function isSame(a: PolicyDocument, b: PolicyDocument): boolean {
  return a.kind === b.kind && a.metadata.namespace === b.metadata.namespace && a.metadata.name === b.metadata.name
}
