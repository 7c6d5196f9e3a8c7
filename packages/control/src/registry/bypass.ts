// SPDX-License-Identifier: Apache-2.0
// Whether somebody can reach a workload past its proxy, as far as its Pod tells. Whatever else lets connections through
// is to be told here: no policy on such a workload is `Ready` (docs/control-plane.md, "What a status says").

import type { MeshNames } from "@merlon/policy"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { capturedConditionOf } from "./captured.js"
import { listOf, objectOf } from "./foreign.js"

/** In one phrase; undefined where nobody can. */
export function bypassOf(pod: KubernetesObject, names: MeshNames): string | undefined {
  const { mesh, domain } = names
  const annotations = pod.metadata.annotations ?? {}
  if (annotations[`inbound.${domain}/undeclared`] === "pass") return "ports that it does not declare pass unjudged"
  const isRedirected = listOf(objectOf(pod.spec).initContainers).some(
    container => objectOf(container).name === `${mesh}-init`,
  )
  if (annotations[`${domain}/injected`] === undefined || isRedirected) return undefined
  // Led to its proxy by Services alone: whoever knows the Pod's address need not ask a Service, unless a NetworkPolicy
  // keeps them away. Fail closed: as long as nobody has seen that it does, it does not.
  const condition = capturedConditionOf(pod, names)
  if (condition === undefined) return "nobody has tried yet whether its ports answer at the Pod's own address"
  return condition.status === "True" ? undefined : condition.message
}
