// SPDX-License-Identifier: Apache-2.0
//
// Whose share of the server a request counts against. Service accounts of a namespace share one: whoever may make one
// account there may make a thousand. Impersonation changes what a caller may do, never whose share it uses.

import type { User } from "../registry/context.js"

export interface Share {
  readonly owner: string
  /** May take the last places too, and as many as there are. */
  readonly system: boolean
}

const ACCOUNT = /^system:serviceaccount:([^:]+):/

export function shareOf(user: User, systemNamespaces: ReadonlySet<string>): Share {
  const namespace = ACCOUNT.exec(user.name)?.[1]
  if (namespace !== undefined)
    return { owner: `system:serviceaccounts:${namespace}`, system: systemNamespaces.has(namespace) }
  return { owner: user.name, system: user.groups.includes("system:masters") || user.groups.includes("system:nodes") }
}
