// SPDX-License-Identifier: Apache-2.0
// What a provider receives about a request: the attributes that the rules saw, and the headers that its declaration
// names, as they were received. Protected header names are left out. Never the content.

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
  /** The headers of the request as received. */
  readonly received: Fields
  readonly protectedHeaders: Pick<ProtectedHeaders, "dropsHeader">
  /** The caller whose share of the provider's limits the question counts against. */
  readonly caller: string
  /** The authorizers that wait for the answer, the asking one included; absent if a proxy asks. */
  readonly askedBy?: readonly string[]
  readonly askedByHeader: string
}

/** Tells a provider that is itself an authorizer who waits for its answer, so that none waits for its own. */
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
