// SPDX-License-Identifier: Apache-2.0
// What a provider receives about a request: what the rules saw of it, with the headers that its declaration names as they came. Names
// under which no caller may speak are left out. Never content.

import type { Connection } from "@merlon/policy/authorization"
import type { AuthorizationProvider } from "@merlon/policy/mesh"
import type { HttpAttributes, ProtectedHeaders } from "@merlon/policy/request"
import { FIELD_KIND } from "@merlon/wire"
import { type FieldPairs, type Fields, pairsOf } from "@merlon/wire/http"

export interface ProviderQuestion {
  readonly connection: Connection
  /** As the rules saw it. */
  readonly http: HttpAttributes
  readonly requestId: string
  /** Of the request as it came. */
  readonly received: Fields
  readonly protectedHeaders: Pick<ProtectedHeaders, "dropsHeader">
  /** Whose share of the provider's limits it counts against. */
  readonly caller: string
  /** The authorizers whose providers lead here, the one that asks included; absent where a proxy asks. */
  readonly askedBy?: readonly string[]
  readonly askedByHeader: string
}

/** Tells a provider that is an authorizer itself who is waiting for it, so that none waits for its own answer. */
export function askedByField({ askedBy, askedByHeader }: ProviderQuestion): FieldPairs {
  return askedBy === undefined ? [] : [[askedByHeader, askedBy.join(", ")]]
}

export function sentHeaders(
  { received, protectedHeaders }: ProviderQuestion,
  { sendHeaders }: AuthorizationProvider,
): FieldPairs {
  const all = sendHeaders.includes("*")
  return pairsOf(received, (name, index) => {
    const kind = received.kind(index)
    if (kind !== FIELD_KIND.plain && kind !== FIELD_KIND.cookie) return false
    return (all || sendHeaders.includes(name)) && !protectedHeaders.dropsHeader(name)
  })
}
