// SPDX-License-Identifier: Apache-2.0
// Pods: pending until a kubelet or proxy runs them, and deleted with a grace period after that.

import { asArray, asObject, asString, dig, type JsonObject } from "../../value.js"
import type { Behaviour, DeleteOptions } from "../behaviour.js"
import { narrowUpdate } from "../narrow-update.js"
import { validateEphemeral } from "../validation/ephemeral-containers.js"
import { qosClass, validatePod } from "../validation/pod.js"

const DEFAULT_GRACE_SECONDS = 30
const TOLERATION_SECONDS = 300

export const pod: Behaviour = {
  metaThroughStatus: true,
  selectable: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  prepareCreate(object) {
    const spec = asObject(object.spec)
    object.status = { phase: "Pending", qosClass: qosClass(spec), ...gateCondition(spec) }
    const grace = spec.terminationGracePeriodSeconds
    // Negative grace periods are read as one second.
    if (typeof grace === "number" && grace < 0) spec.terminationGracePeriodSeconds = 1
  },
  narrow: narrowUpdate,
  validateNarrowed(subresource, object, old) {
    if (subresource === "resize") return validatePod(object)
    return subresource === "ephemeralcontainers" ? validateEphemeral(object, old) : undefined
  },
  admit: podDefaults,
  grace(object: JsonObject, options: DeleteOptions) {
    const spec = asObject(object.spec)
    const own = spec.terminationGracePeriodSeconds
    const requested = options.gracePeriodSeconds ?? (typeof own === "number" ? own : DEFAULT_GRACE_SECONDS)
    // A Pod that has no node or has ended needs no grace period.
    const phase = asString(dig(object, "status", "phase"))
    if (asString(spec.nodeName) === "" || phase === "Failed" || phase === "Succeeded") return 0
    return Math.max(requested, 0)
  },
}

/** A Pod with scheduling gates reports them as soon as it is created. */
function gateCondition(spec: JsonObject): JsonObject {
  if (asArray(spec.schedulingGates).length === 0) return {}
  const condition = {
    ...{ type: "PodScheduled", status: "False", reason: "SchedulingGated", lastProbeTime: null },
    ...{ message: "Scheduling is blocked due to non-empty scheduling gates", lastTransitionTime: null },
  }
  return { conditions: [condition] }
}

function podDefaults(object: JsonObject): JsonObject {
  const spec = asObject(object.spec)
  object.spec = spec
  const tolerations = asArray(spec.tolerations).map(asObject)
  for (const key of ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]) {
    const known = tolerations.some(
      item =>
        (item.key === key || item.key === undefined || item.key === "") &&
        (item.effect === "NoExecute" || item.effect === undefined || item.effect === ""),
    )
    if (!known)
      tolerations.push({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: TOLERATION_SECONDS })
  }
  spec.tolerations = tolerations
  if (spec.priority === undefined) spec.priority = 0
  if (spec.preemptionPolicy === undefined) spec.preemptionPolicy = "PreemptLowerPriority"
  return object
}
