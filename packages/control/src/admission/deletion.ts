// SPDX-License-Identifier: Apache-2.0
// Decides whether a stored policy may be deleted. A deletion is checked like any other change, also one by the garbage
// collector: otherwise an ownerReference would make every policy deletable. The garbage collector retries, and succeeds
// once the workloads of the same owner are gone. Only the deletion of a namespace is not blocked, because its workloads
// are deleted too.

import type { Assessment } from "@merlon/policy/proof"
import { policyKey } from "../policies/stored-policy.js"
import { type AssessmentOptions, assessmentOf, inForce, reviewed } from "./assessment.js"
import { type AdmissionRequest, NAMESPACE_CONTROLLER, nameOf } from "./review.js"

const NOTHING: Assessment = { rejections: [], warnings: [] }

export async function assessedDeletion(request: AdmissionRequest, options: AssessmentOptions): Promise<Assessment> {
  const { kind, namespace, subresource, user } = request
  if (subresource !== "" || user === NAMESPACE_CONTROLLER) return NOTHING
  const key = policyKey(kind, namespace, nameOf(request))
  const before = inForce(key, options)
  // A policy that we do not know yet has not been in effect anywhere.
  if (before === undefined) return NOTHING
  const answer = await reviewed({ ask: "removal", key, namespace }, options)
  const assessment = assessmentOf(answer, { before, after: undefined }, options)
  // Queried only if it matters: policies of a namespace that is being deleted may be deleted one by one, also by users.
  return assessment.rejections.length > 0 && (await options.isBeingDeleted(namespace)) ? NOTHING : assessment
}
