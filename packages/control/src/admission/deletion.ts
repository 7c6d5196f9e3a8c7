// SPDX-License-Identifier: Apache-2.0
// Whether a stored policy may go. What people delete is weighed as any other change; what the cluster takes away, with its
// namespace or its owner, is nobody's decision to refuse, and refusing it would only keep the rest from going.

import type { Assessment } from "@merlon/policy"
import { policyKey } from "../policies/stored-policy.js"
import { type AssessmentOptions, inForce, reviewed, weighed } from "./assessment.js"
import { type AdmissionRequest, nameOf } from "./review.js"

const controller = (name: string): string => `system:serviceaccount:kube-system:${name}`

/** As whom a cluster deletes what goes with something else. */
export const CLUSTER_DELETERS: readonly string[] = [
  controller("namespace-controller"),
  controller("generic-garbage-collector"),
  // Both of them, where they have no accounts of their own.
  "system:kube-controller-manager",
]

const NOTHING: Assessment = { refusals: [], warnings: [] }

export async function assessedDeletion(request: AdmissionRequest, options: AssessmentOptions): Promise<Assessment> {
  const { kind, namespace, subresource, user } = request
  if (subresource !== "" || CLUSTER_DELETERS.includes(user)) return NOTHING
  const key = policyKey(kind, namespace, nameOf(request))
  const before = inForce(key, options)
  // What we do not know of yet has been in force nowhere.
  if (before === undefined) return NOTHING
  const answer = await reviewed({ ask: "removal", key, namespace }, options)
  const assessment = weighed(answer, { before, after: undefined }, options)
  // Asked only where it matters: the policies of a namespace that goes may be deleted one by one, also by people.
  return assessment.refusals.length > 0 && (await options.isGoing(namespace)) ? NOTHING : assessment
}
