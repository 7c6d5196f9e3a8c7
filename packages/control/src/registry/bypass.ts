// SPDX-License-Identifier: Apache-2.0
// Whether somebody can reach a workload past its proxy, as far as its Pod tells. Whatever else lets connections through
// is to be told here: no policy on such a workload is `Ready` (docs/control-plane.md, "What a status says").

import type { MeshNames } from "@merlon/policy"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { listOf, objectOf } from "./foreign.js"

/** In one phrase; undefined where nobody can. */
export function bypassOf({ metadata, spec }: KubernetesObject, { mesh, domain }: MeshNames): string | undefined {
  const annotations = metadata.annotations ?? {}
  if (annotations[`inbound.${domain}/undeclared`] === "pass") return "ports that it does not declare pass unjudged"
  // Led to its proxy by Services alone: whoever knows the Pod's address need not ask a Service.
  const isRedirected = listOf(objectOf(spec).initContainers).some(
    container => objectOf(container).name === `${mesh}-init`,
  )
  const isInjected = annotations[`${domain}/injected`] !== undefined
  return isInjected && !isRedirected ? "its ports answer at the Pod's own address" : undefined
}
