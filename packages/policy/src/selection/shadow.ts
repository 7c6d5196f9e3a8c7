// SPDX-License-Identifier: Apache-2.0
// A policy in shadow is evaluated and reported but never acted upon. Two spellings: `spec.enforcement: Shadow`, and for
// AuthorizationPolicy the annotation `<domain>/dry-run` that policies written for other meshes carry.

import type { MeshConfig } from "../mesh/config.js"
import type {
  AuthorizationPolicy,
  PeerAuthentication,
  PolicyInvariant,
  RequestAuthentication,
} from "../resources/document.js"
import { parseDryRun } from "../resources/dry-run.js"

type Security = AuthorizationPolicy | PeerAuthentication | PolicyInvariant | RequestAuthentication

export function isShadow(
  { kind, metadata, spec }: Pick<Security, "kind" | "metadata" | "spec">,
  mesh: MeshConfig,
): boolean {
  if (spec.enforcement === "Shadow") return true
  if (kind !== "AuthorizationPolicy") return false
  const annotation = metadata.annotations?.[mesh.names.dryRunAnnotation]
  return annotation !== undefined && parseDryRun(annotation) === true
}
