// SPDX-License-Identifier: Apache-2.0
//
// What the server's own admission adds to new objects: tolerations and priority of pods, the not-ready taint of
// nodes, and who sent a request for a certificate.

import { type AdmissionRequest, type RequestContext, type User, userInfo } from "../registry/context.js"
import type { Kind } from "../registry/kind.js"
import { asArray, asObject, clone, type JsonObject } from "../value.js"

const DEFAULT_TOLERATION_SECONDS = 300

export function builtinMutation(kind: Kind, request: AdmissionRequest, context: RequestContext): JsonObject {
  const object = request.object ?? {}
  if (kind.info.kind === "CertificateSigningRequest" && kind.info.group === "certificates.k8s.io")
    return request.operation === "CREATE" ? signedBySender(clone(object), context.user) : object
  if (request.operation !== "CREATE" || kind.info.group !== "" || context.subresource !== "") return object
  if (kind.info.kind === "Pod") return podDefaults(clone(object))
  if (kind.info.kind === "Node") return taintedNode(clone(object))
  return object
}

/** Signers trust these fields, so they say who sent the request and never what it claims. */
function signedBySender(request: JsonObject, user: User): JsonObject {
  const { username: _n, uid: _u, groups: _g, extra: _e, ...rest } = asObject(request.spec)
  request.spec = { ...rest, ...userInfo(user) }
  return request
}

function podDefaults(pod: JsonObject): JsonObject {
  const spec = asObject(pod.spec)
  pod.spec = spec
  const tolerations = asArray(spec.tolerations).map(asObject)
  for (const key of ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]) {
    const known = tolerations.some(
      item =>
        (item.key === key || item.key === undefined || item.key === "") &&
        (item.effect === "NoExecute" || item.effect === undefined || item.effect === ""),
    )
    if (!known)
      tolerations.push({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: DEFAULT_TOLERATION_SECONDS })
  }
  spec.tolerations = tolerations
  if (spec.priority === undefined) spec.priority = 0
  if (spec.preemptionPolicy === undefined) spec.preemptionPolicy = "PreemptLowerPriority"
  return pod
}

function taintedNode(node: JsonObject): JsonObject {
  const spec = asObject(node.spec)
  const taints = asArray(spec.taints).map(asObject)
  const key = "node.kubernetes.io/not-ready"
  if (!taints.some(taint => taint.key === key)) taints.push({ key, effect: "NoSchedule" })
  node.spec = { ...spec, taints }
  return node
}
