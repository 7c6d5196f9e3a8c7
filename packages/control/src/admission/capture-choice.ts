// SPDX-License-Identifier: Apache-2.0
// Decides how connections reach the xservers of a namespace's Pods, and whether outbound calls of these Pods are
// captured. Rules inside a Pod need a capability that the Pod Security Standards grant neither at `baseline` nor at
// `restricted`, so such namespaces are captured by Service (ADR 007).

import type { MeshNames } from "@merlon/policy/mesh"
import { injectionNames, OUTBOUNDS, type Outbound } from "./injection-options.js"

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

/** The setting for Pods without an annotation; undefined if neither the namespace nor the mesh has one. */
export function outboundSetting(
  namespaceLabels: Labels,
  fallback: Outbound | undefined,
  names: MeshNames,
): { readonly outbound: Outbound | undefined; readonly warnings: readonly string[] } {
  const { namespaceOutboundLabel: label } = injectionNames(names)
  const own = namespaceLabels?.[label]
  const outbound = OUTBOUNDS.find(each => each === own)
  if (own === undefined || outbound !== undefined) return { outbound: outbound ?? fallback, warnings: [] }
  const why = `must be ${OUTBOUNDS.map(each => `\`${each}\``).join(" or ")}; \`${own}\` has no effect`
  return { outbound: fallback, warnings: [`the label \`${label}\` of the namespace ${why}`] }
}

/** `required` is like `enabled`, and the API server also rejects Pods that would have no xserver. */
export function isOptedIn(namespaceLabels: Labels, names: MeshNames): boolean {
  const value = namespaceLabels?.[names.injectionLabel]
  return value === "enabled" || value === "required"
}
