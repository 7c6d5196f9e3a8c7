// SPDX-License-Identifier: Apache-2.0
// Whose share a request counts against. Service accounts of a namespace share one, because a user who can create one
// account there can create a thousand. Impersonation changes permissions, never the share.

import type { User } from "../registry/context.js"

export interface Share {
  readonly owner: string
  /** May also take the reserved slots, without a per-user limit. */
  readonly system: boolean
}

const ACCOUNT = /^system:serviceaccount:([^:]+):/

export function shareOf(user: User, systemNamespaces: ReadonlySet<string>): Share {
  const namespace = ACCOUNT.exec(user.name)?.[1]
  if (namespace !== undefined)
    return { owner: `system:serviceaccounts:${namespace}`, system: systemNamespaces.has(namespace) }
  return { owner: user.name, system: user.groups.includes("system:masters") || user.groups.includes("system:nodes") }
}
