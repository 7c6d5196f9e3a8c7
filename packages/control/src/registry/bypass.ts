// SPDX-License-Identifier: Apache-2.0
// Finds ways to reach a workload past its proxy, as far as its Pod shows them. No policy that selects such a workload
// is `Ready` (docs/control-plane.md, "What a status says"), so every further way to bypass xserver belongs here too.

import type { MeshNames } from "@merlon/policy/mesh"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { applicationPorts, captureMap, isAuthorizer, isDeclared } from "./application-ports.js"
import { readCaptureArgs } from "./capture-args.js"
import { capturedConditionOf } from "./captured.js"
import { type Foreign, listOf, objectOf } from "./foreign.js"
import { bypassingPrivilege, initContainer, isCapture } from "./privileges.js"

const PASSES = "undeclared ports are reachable without policy checks"

/** The reason in one phrase; undefined if nothing bypasses the proxy. */
export function bypassOf(pod: KubernetesObject, names: MeshNames): string | undefined {
  const { domain } = names
  const annotations = pod.metadata.annotations ?? {}
  if (annotations[`inbound.${domain}/undeclared`] === "pass") return PASSES
  const isInjected = annotations[`${domain}/injected`] !== undefined
  if (isDeclared(pod, names) && !isInjected) {
    // Its proxy checks for such ports and reports them.
    const exposed = capturedConditionOf(pod, names)
    return exposed?.status === "False" ? exposed.message : undefined
  }
  // Whether a gateway queries the authorizer depends on the gateway's configuration, which no Pod shows.
  if (isAuthorizer(pod, names)) return undefined
  const privilege = bypassingPrivilege(pod.spec, names)
  if (privilege !== undefined) return privilege
  // Fail closed: a container named like xserver does not show that connections are redirected to it.
  if (!isInjected) return "it was not injected, so traffic is not redirected to xserver"
  const capture = listOf(objectOf(pod.spec).initContainers)
    .map(objectOf)
    .find(({ name }) => name === initContainer(names))
  if (capture !== undefined) return redirectError(capture, pod, names)
  // Services route to its proxy, but a caller that knows the Pod's address needs no Service, unless a NetworkPolicy
  // rejects it. Fail closed: it counts as bypassed until an attempt has shown otherwise.
  const condition = capturedConditionOf(pod, names)
  if (condition === undefined) return "not checked yet whether its ports answer at the Pod's address"
  return condition.status === "True" ? undefined : condition.message
}

/** The annotation may have been removed later; the arguments with which the container was started decide. */
function redirectError(capture: Foreign, { spec }: KubernetesObject, names: MeshNames): string | undefined {
  const flags = readCaptureArgs(capture.args)
  if (flags?.["--undeclared"] === "pass") return PASSES
  const map = captureMap(applicationPorts(spec, names))
  if (isCapture(capture, names) && flags?.["--map"] === map) return undefined
  return `\`${initContainer(names)}\` does not redirect the declared ports of the Pod to xserver`
}
