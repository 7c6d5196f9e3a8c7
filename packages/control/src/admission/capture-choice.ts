// SPDX-License-Identifier: Apache-2.0
// How connections reach the xservers of a namespace's Pods. Rules inside a Pod need a capability that the Pod Security
// Standards grant neither at `baseline` nor at `restricted`, so such namespaces are captured by Service (ADR 007).

import type { MeshNames } from "@merlon/policy/mesh"
import { injectionNames } from "./injection-options.js"

export type Capture = "redirect" | "service"

export const POD_SECURITY_LABEL = "pod-security.kubernetes.io/enforce"
export const CONFINED = ["baseline", "restricted"] as const

type Labels = { readonly [key: string]: string } | undefined

export function captureOf(namespaceLabels: Labels, fallback: Capture, names: MeshNames): Capture {
  const own = namespaceLabels?.[injectionNames(names).namespaceCaptureLabel]
  if (own === "redirect" || own === "service") return own
  const enforced = namespaceLabels?.[POD_SECURITY_LABEL]
  return CONFINED.some(level => level === enforced) ? "service" : fallback
}

/** `required`: as `enabled`, and a Pod that would have no xserver is refused. */
export function isOptedIn(namespaceLabels: Labels, names: MeshNames): boolean {
  const value = namespaceLabels?.[names.injectionLabel]
  return value === "enabled" || value === "required"
}
