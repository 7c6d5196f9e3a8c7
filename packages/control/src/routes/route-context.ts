// SPDX-License-Identifier: Apache-2.0
// The inputs of resolving routes and clusters, and a lookup that both need: which host a spelling means.

import type { MeshConfig } from "@merlon/policy/mesh"
import type { EffectiveMode } from "@merlon/policy/selection"
import type { MeshDirectory } from "../registry/mesh-directory.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import type { MeshScope } from "./host-governance.js"
import { hostCandidates } from "./host-name.js"
import type { MeshServiceIndex } from "./mesh-service-index.js"

/** The mTLS mode of a proxied workload's port. */
export type ModeOf = (workload: MeshWorkload, port: number) => EffectiveMode

export interface RouteContext {
  readonly meshServices: MeshServiceIndex
  readonly directory: Pick<MeshDirectory, "services" | "behind" | "at">
  readonly mesh: MeshConfig
  readonly modeOf: ModeOf
  readonly clusterDomain: string
}

export function scopeOf({ mesh, clusterDomain }: Pick<RouteContext, "mesh" | "clusterDomain">): MeshScope {
  return { clusterDomain, rootNamespace: mesh.names.rootNamespace }
}

/** The host that a spelling means in a policy of this namespace. */
export function canonicalHost(text: string, namespace: string, { directory, clusterDomain }: RouteContext): string {
  const candidates = hostCandidates(text, namespace, clusterDomain)
  if (candidates.length === 1) return candidates[0]
  return candidates.find(host => directory.services.has(host)) ?? candidates.at(-1) ?? candidates[0]
}
