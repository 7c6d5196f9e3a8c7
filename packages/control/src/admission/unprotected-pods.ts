// SPDX-License-Identifier: Apache-2.0
// Pods that should have a proxy but lack one, or whose proxy can be bypassed: Pods that admission would have injected
// or rejected if it had been called. Used by health checks; policies that select such a Pod are not `Ready`.

import type { MeshNames } from "@merlon/policy/mesh"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { hasXserver, isDeclared } from "../registry/application-ports.js"
import { bypassOf } from "../registry/bypass.js"
import { objectOf } from "../registry/foreign.js"
import { isOptedIn } from "./capture-choice.js"
import { optIn } from "./opt-in.js"

export interface UnprotectedPod {
  readonly namespace: string
  readonly name: string
  /** Why it should have a proxy, and what it has instead. */
  readonly problem: string
  readonly fix: string
}

export function unprotectedPods(
  pods: Iterable<KubernetesObject>,
  namespaces: Iterable<KubernetesObject>,
  names: MeshNames,
): readonly UnprotectedPod[] {
  const optedIn = new Set(
    [...namespaces].filter(({ metadata }) => isOptedIn(metadata.labels, names)).map(({ metadata }) => metadata.name),
  )
  return [...pods].flatMap(pod => {
    const { namespace = "default", name, labels } = pod.metadata
    const { phase } = objectOf(pod.status)
    if (phase === "Succeeded" || phase === "Failed" || isDeclared(pod, names)) return []
    const choice = optIn(labels, namespace, optedIn.has(namespace), names)
    if (!choice.inject) return []
    const found = errorOf(pod, names)
    return found === undefined
      ? []
      : [{ namespace, name, problem: `${found.problem}, though ${choice.because}`, fix: found.fix }]
  })
}

function errorOf(pod: KubernetesObject, names: MeshNames): Pick<UnprotectedPod, "problem" | "fix"> | undefined {
  if (objectOf(pod.spec).hostNetwork === true) {
    const fix = `remove \`hostNetwork\`, or opt out with the label \`${names.injectLabel}: "false"\``
    return { problem: "is on the node's network, where no xserver can protect it", fix }
  }
  if (!hasXserver(pod.spec, names)) {
    return { problem: "has no xserver", fix: "restart it with `kubectl rollout restart`, or delete the Pod" }
  }
  const bypass = bypassOf(pod, names)
  if (bypass === undefined) return undefined
  return {
    problem: `can be reached without its xserver (${bypass})`,
    fix: "see docs/kubernetes.md, `Configure injection`",
  }
}
