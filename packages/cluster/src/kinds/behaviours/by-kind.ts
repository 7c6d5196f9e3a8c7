// SPDX-License-Identifier: Apache-2.0
// The behaviour of each built-in kind, by group and kind. Kinds that are not listed are plain documents.

import { type User, userInfo } from "../../registry/context.js"
import { asArray, asObject, clone, type JsonObject } from "../../value.js"
import type { Behaviour } from "../behaviour.js"
import { customResourceDefinition } from "./custom-resource-definition.js"
import { namespace } from "./namespace.js"
import { pod } from "./pod.js"
import { service } from "./service.js"
import { unattended } from "./unattended.js"

export const plain: Behaviour = {}

const event: Behaviour = {
  // Errors about Events name the core group, whichever group serves them.
  rejectedIn: "",
  selectable: [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
}

const node: Behaviour = {
  metaThroughStatus: true,
  selectable: ["spec.unschedulable"],
  admit(object) {
    const spec = asObject(object.spec)
    const taints = asArray(spec.taints).map(asObject)
    const key = "node.kubernetes.io/not-ready"
    if (!taints.some(taint => taint.key === key)) taints.push({ key, effect: "NoSchedule" })
    object.spec = { ...spec, taints }
    return object
  },
}

const certificateSigningRequest: Behaviour = {
  selectable: ["spec.signerName"],
  prepareUpdate(object, old) {
    if (old.spec === undefined) delete object.spec
    else object.spec = clone(old.spec)
  },
  /** Signers trust these fields, so the server overwrites them with the sender of the request. */
  admit(object: JsonObject, user: User) {
    const { username: _n, uid: _u, groups: _g, extra: _e, ...rest } = asObject(object.spec)
    object.spec = { ...rest, ...userInfo(user) }
    return object
  },
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  "/Pod": pod,
  "/Namespace": namespace,
  "/Service": service,
  "/Event": event,
  "events.k8s.io/Event": event,
  "/Node": node,
  "/Endpoints": { deprecation: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice" },
  "/Secret": { selectable: ["type"] },
  "/PersistentVolume": { metaThroughStatus: true },
  "/PersistentVolumeClaim": { metaThroughStatus: true, ...unattended },
  "/ResourceQuota": { metaThroughStatus: true },
  "/ReplicationController": { selectable: ["status.replicas"], ...unattended },
  "apps/ReplicaSet": { selectable: ["status.replicas"], ...unattended },
  "apps/Deployment": unattended,
  "apps/StatefulSet": unattended,
  "apps/DaemonSet": unattended,
  "batch/Job": { selectable: ["status.successful"], ...unattended },
  "batch/CronJob": unattended,
  "autoscaling/HorizontalPodAutoscaler": unattended,
  "networking.k8s.io/Ingress": unattended,
  "networking.k8s.io/NetworkPolicy": unattended,
  "policy/PodDisruptionBudget": unattended,
  "admissionregistration.k8s.io/MutatingAdmissionPolicy": unattended,
  "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding": unattended,
  "certificates.k8s.io/CertificateSigningRequest": certificateSigningRequest,
  "apiextensions.k8s.io/CustomResourceDefinition": customResourceDefinition,
}

export function behaviourOf(group: string, kind: string): Behaviour {
  const name = `${group}/${kind}`
  return (Object.hasOwn(behaviours, name) ? behaviours[name] : undefined) ?? plain
}
