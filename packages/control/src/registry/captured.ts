// SPDX-License-Identifier: Apache-2.0
// The result of the control plane's attempt to reach a Pod's application past xserver: a condition on the Pod, which
// every replica and user can read.

import type { MeshNames } from "@merlon/policy/mesh"
import type { KubernetesObject, ObjectMeta } from "../kubernetes/resource-type.js"
import { listOf, objectOf, textOf } from "./foreign.js"

export interface CapturedCondition {
  readonly status: string
  readonly reason: string
  readonly message: string
}

export function isCapturedByService({ metadata }: KubernetesObject, names: MeshNames): boolean {
  return metadata.labels?.[`${names.domain}/capture`] === "service" && isInjected(metadata, names)
}

function isInjected({ annotations }: ObjectMeta, { domain }: MeshNames): boolean {
  return annotations?.[`${domain}/injected`] !== undefined
}

export function capturedConditionOf(pod: KubernetesObject, { domain }: MeshNames): CapturedCondition | undefined {
  const found = listOf(objectOf(pod.status).conditions)
    .map(objectOf)
    .find(({ type }) => type === `${domain}/Captured`)
  if (found === undefined) return undefined
  const [status, reason, message] = [found.status, found.reason, found.message].map(value => textOf(value) ?? "")
  return { status: status ?? "", reason: reason ?? "", message: message ?? "" }
}

export function capturedCondition(reached: readonly number[]): CapturedCondition {
  if (reached.length === 0) {
    return { status: "True", reason: "Closed", message: "its application can be reached only through xserver" }
  }
  const ports = `port${reached.length === 1 ? "" : "s"} ${reached.join(", ")}`
  return {
    status: "False",
    reason: "Open",
    message: `${ports} answer${reached.length === 1 ? "s" : ""} without going through xserver: the cluster does not enforce NetworkPolicies, or another one allows this`,
  }
}

/** For a declared workload, as its proxy reports it. */
export function exposedCondition(ports: readonly number[]): CapturedCondition {
  const named = `port${ports.length === 1 ? "" : "s"} ${ports.join(", ")}`
  return {
    status: "False",
    reason: "Exposed",
    message: `its application answers without going through xserver at ${named}; let it listen on 127.0.0.1`,
  }
}
