// SPDX-License-Identifier: Apache-2.0
// A policy in shadow mode is evaluated and reported but never enforced. There are two ways to write it:
// `spec.enforcement: Shadow`, and for AuthorizationPolicy the annotation `<domain>/dry-run` of policies written for other
// meshes.

import type { MeshConfig } from "../mesh/config.js"
import { parseDryRun } from "../resources/dry-run.js"

/** Only the fields that are read, because stored documents that cannot be parsed are checked too. */
export interface ShadowSource {
  readonly kind: string
  readonly metadata: { readonly annotations?: { readonly [key: string]: unknown } | undefined }
  readonly spec: { readonly enforcement?: unknown }
}

export function isShadow({ kind, metadata, spec }: ShadowSource, { names }: Pick<MeshConfig, "names">): boolean {
  if (spec.enforcement === "Shadow") return true
  if (kind !== "AuthorizationPolicy") return false
  const annotation = metadata.annotations?.[names.dryRunAnnotation]
  return typeof annotation === "string" && parseDryRun(annotation) === true
}
