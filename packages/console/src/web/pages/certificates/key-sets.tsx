// SPDX-License-Identifier: Apache-2.0
// Whether the keys of every token issuer are loaded, and how old they are.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { type Condition, keyOf, type Policy } from "../../api/objects.js"
import { Badge } from "../../ui/mark.js"

const isOfKeys = ({ type }: Condition): boolean => /^(?:jwks|keys?)/i.test(type)

export function KeySets({ authentications }: { readonly authentications: readonly Policy[] }): ReactNode {
  if (authentications.length === 0) {
    return (
      <p className="hint">
        No RequestAuthentication yet: no workload accepts tokens.{" "}
        <Link href="/policies/new?template=token">Trust a token issuer</Link>
      </p>
    )
  }
  return (
    <ul className="plain">
      {authentications.map(policy => {
        const keys = policy.status?.conditions?.find(isOfKeys)
        const good = keys?.status === "True" && keys.reason !== "Stale"
        return (
          <li key={keyOf(policy)}>
            <Badge tone={good ? "good" : keys?.status === "False" ? "bad" : "warn"}>{keys?.reason ?? "unknown"}</Badge>{" "}
            <Link href={`/policies/RequestAuthentication/${keyOf(policy)}`}>{keyOf(policy)}</Link>
            {keys !== undefined && <p className="hint">{keys.message}</p>}
          </li>
        )
      })}
    </ul>
  )
}
