// SPDX-License-Identifier: Apache-2.0
// Our own kinds, known without discovery: common commands need one request less, and a cluster that lacks the kinds can
// be distinguished from a typo.

import type { MeshNames } from "@merlon/policy/mesh"
import { KINDS, servedVersions } from "@merlon/policy/resources"
import type { Resource } from "./resource.js"

/** The category of all our kinds, whatever the mesh is called. */
const ALL_POLICIES = "policies"

/** The served version that Kubernetes prefers, which kubectl uses too. */
export function knownKinds(names: MeshNames): readonly Resource[] {
  const { securityGroup, networkingGroup, category, policyCategory } = names
  const version = servedVersions(names).at(-1) ?? names.version
  return KINDS.map(({ kind, plural, singular, shortName, group }) => ({
    group: group === "security" ? securityGroup : networkingGroup,
    version,
    plural,
    singular,
    kind,
    namespaced: true,
    shortNames: [shortName],
    categories: [category, ALL_POLICIES, ...(group === "security" ? [policyCategory] : [])],
  }))
}
