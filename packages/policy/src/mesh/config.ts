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
  /** Other trust domains whose identities count as ours. */
  readonly trustDomainAliases: readonly string[]
  readonly pathNormalization: PathNormalization
  /** The number of trusted proxies in front of us that append to `X-Forwarded-For`. */
  readonly numTrustedProxies: number
  /** The external authorizers that CUSTOM policies may name. */
  readonly providers: readonly AuthorizationProvider[]
  /** Names of the providers that Istio's mesh configuration declares; absent if none was read. Only for analysis. */
  readonly declaredProviders?: readonly string[]
  /**
   * With `istio`, policies have their meaning in Istio where it decides differently from Merlon, and rules have the
   * names of its logs. Only for analysis: our proxies always decide as Merlon does.
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
 * Most applications read `//admin` as `/admin`, so a rule for one must match the other. A mesh called `istio` keeps
 * Istio's default, so that policies written for it keep their meaning.
 */
function defaultNormalization({ mesh }: MeshNames): PathNormalization {
  return mesh === "istio" ? "BASE" : "MERGE_SLASHES"
}
