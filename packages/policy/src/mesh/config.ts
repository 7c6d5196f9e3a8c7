// SPDX-License-Identifier: Apache-2.0
// Mesh-wide settings that change what a policy means. Everything else a mesh configures is of no concern here.

import { type MeshNames, meshNames } from "./names.js"

export type PathNormalization = "NONE" | "BASE" | "MERGE_SLASHES" | "DECODE_AND_MERGE_SLASHES"

export interface MeshConfig {
  readonly names: MeshNames
  readonly trustDomain: string
  /** Further trust domains whose identities count as ours. */
  readonly trustDomainAliases: readonly string[]
  readonly pathNormalization: PathNormalization
  /** How many proxies in front of us append to `X-Forwarded-For` and are believed. */
  readonly numTrustedProxies: number
}

export function meshConfig(settings: Partial<MeshConfig> = {}): MeshConfig {
  return {
    names: meshNames(),
    trustDomain: "cluster.local",
    trustDomainAliases: [],
    pathNormalization: "BASE",
    numTrustedProxies: 0,
    ...settings,
  }
}
