// SPDX-License-Identifier: Apache-2.0
// Mesh-wide settings that change the meaning of a policy. Other settings of a mesh do not belong here.

import { type MeshNames, meshNames } from "./names.js"
import type { AuthorizationProvider } from "./providers.js"

export const PATH_NORMALIZATIONS = ["NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"] as const
export type PathNormalization = (typeof PATH_NORMALIZATIONS)[number]

export type Dialect = "istio"

export interface MeshConfig {
  readonly names: MeshNames
  readonly trustDomain: string
  /** Further trust domains whose identities count as ours. */
  readonly trustDomainAliases: readonly string[]
  readonly pathNormalization: PathNormalization
  /** How many proxies in front of us append to `X-Forwarded-For` and are believed. */
  readonly numTrustedProxies: number
  /** The external authorizers that CUSTOM policies may name. */
  readonly providers: readonly AuthorizationProvider[]
  /** Names of the providers that Istio's mesh configuration declares; absent where none was read. For analysis alone. */
  readonly declaredProviders?: readonly string[]
  /**
   * Where Istio decides otherwise than Merlon, policies mean what they mean there, and rules have the names of its logs. For
   * analysis alone: our proxies decide as Merlon does.
   */
  readonly dialect?: Dialect
}

type MeshSettings = Partial<Omit<MeshConfig, "pathNormalization">> & {
  readonly pathNormalization?: PathNormalization | undefined
}

export function meshConfig({ pathNormalization, ...settings }: MeshSettings = {}): MeshConfig {
  const { names = meshNames() } = settings
  return {
    trustDomain: "cluster.local",
    trustDomainAliases: [],
    numTrustedProxies: 0,
    providers: [],
    ...settings,
    names,
    pathNormalization: pathNormalization ?? defaultNormalization(names),
  }
}

/**
 * Most applications read `//admin` as `/admin`, so a rule on one must match the other. A mesh called `istio` keeps the
 * default of Istio, so that policies written for it mean the same.
 */
function defaultNormalization({ mesh }: MeshNames): PathNormalization {
  return mesh === "istio" ? "BASE" : "MERGE_SLASHES"
}
