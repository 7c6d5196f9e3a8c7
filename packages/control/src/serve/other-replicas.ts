// SPDX-License-Identifier: Apache-2.0
// Checks whether another replica serves after this one stops. If not, the webhooks and the API registration must be
// removed too.

import { componentNames } from "../install/component-names.js"
import type { Reflected } from "../kubernetes/reflector.js"
import { isBeingDeleted, type KubernetesObject } from "../kubernetes/resource-type.js"
import type { ControlPlaneOptions } from "../options.js"
import { labelsOf, listOf, objectOf } from "../registry/foreign.js"

export interface Leaving {
  readonly options: Pick<ControlPlaneOptions, "mesh" | "replica" | "webhooks" | "hasCluster">
  readonly pods: Pick<Reflected<KubernetesObject>, "items">
  readonly isLeader: () => boolean
}

export function isServedByAnother({ options, pods, isLeader }: Leaving): boolean {
  const { mesh, replica, webhooks, hasCluster } = options
  // The cluster stops with us, and the next start registers again.
  if (hasCluster) return true
  // Only the leader's address is registered.
  if ("url" in webhooks) return !isLeader()
  const { rootNamespace } = mesh.names
  const { controlPlane } = componentNames(mesh.names)
  for (const pod of pods.items.values()) {
    const { namespace, name, labels } = pod.metadata
    if (namespace !== rootNamespace || labelsOf(labels)["app.kubernetes.io/name"] !== controlPlane) continue
    if (name !== replica && !isBeingDeleted(pod) && isReady(pod)) return true
  }
  return false
}

function isReady({ status }: KubernetesObject): boolean {
  return listOf(objectOf(status).conditions)
    .map(objectOf)
    .some(({ type, status: state }) => type === "Ready" && state === "True")
}
