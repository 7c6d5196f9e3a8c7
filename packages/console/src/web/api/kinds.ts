// SPDX-License-Identifier: Apache-2.0
// Our kinds, with their API paths.

import type { Names } from "./client.js"

export interface KindEntry {
  readonly kind: string
  readonly plural: string
  readonly group: "securityGroup" | "networkingGroup"
  /** The purpose of the kind, for users. */
  readonly purpose: string
}

export const VERSION = "v1alpha3"

export const KINDS: readonly [KindEntry, ...KindEntry[]] = [
  {
    kind: "AuthorizationPolicy",
    plural: "authorizationpolicies",
    group: "securityGroup",
    purpose: "who can call a workload, and what for",
  },
  {
    kind: "PeerAuthentication",
    plural: "peerauthentications",
    group: "securityGroup",
    purpose: "whether a workload requires mTLS",
  },
  {
    kind: "RequestAuthentication",
    plural: "requestauthentications",
    group: "securityGroup",
    purpose: "which token issuers are trusted",
  },
  { kind: "PolicyInvariant", plural: "policyinvariants", group: "securityGroup", purpose: "what no change may break" },
  { kind: "MeshService", plural: "meshservices", group: "networkingGroup", purpose: "how callers reach a service" },
]

export function kindNamed(kind: string | undefined): KindEntry | undefined {
  return KINDS.find(entry => entry.kind === kind)
}

export function pathOf(names: Names, { group, plural }: KindEntry, namespace?: string, name?: string): string {
  const base = `/apis/${names[group]}/${VERSION}`
  const where = namespace === undefined ? "" : `/namespaces/${namespace}`
  return `${base}${where}/${plural}${name === undefined ? "" : `/${name}`}`
}
