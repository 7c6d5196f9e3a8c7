// SPDX-License-Identifier: Apache-2.0
// Kinds that this server only stores, because no controller or node acts on them. Users who create one get a warning
// instead of waiting for Pods that never start.

import { asString, dig } from "../../value.js"
import { IN_THIS_CLUSTER } from "../advice.js"
import type { Behaviour } from "../behaviour.js"

const consequences: Readonly<Record<string, string>> = {
  NetworkPolicy: "it restricts no traffic; use policies of the mesh",
  Ingress: "it routes no traffic",
  HorizontalPodAutoscaler: "it scales nothing",
  PodDisruptionBudget: "it protects no Pods",
  PersistentVolumeClaim: "it is never bound",
  MutatingAdmissionPolicy: "it changes no object; use a MutatingWebhookConfiguration",
  MutatingAdmissionPolicyBinding: "it changes no object; use a MutatingWebhookConfiguration",
}
const NO_PODS = "it makes no Pods; declare what runs with `merlonctl workload`, or use a Kubernetes cluster"

export const unattended: Behaviour = {
  advise(object, { warn }) {
    const kind = asString(object.kind)
    const name = asString(dig(object, "metadata", "name"))
    warn(
      `${kind} ${JSON.stringify(name)} is stored, but nothing ${IN_THIS_CLUSTER} acts on it: ${consequences[kind] ?? NO_PODS}`,
    )
  },
}
