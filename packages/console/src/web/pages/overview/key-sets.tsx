// SPDX-License-Identifier: Apache-2.0
// Whether the keys of every issuer are at hand, and how old they are, as the status of each policy tells it.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { type Condition, keyOf, type Policy } from "../../api/objects.js"
import { Mark } from "../../ui/mark.js"

const isOfKeys = ({ type }: Condition): boolean => /^(?:jwks|keys?)/i.test(type)

export function KeySets({ authentications }: { readonly authentications: readonly Policy[] }): ReactNode {
  return (
    <section aria-labelledby="keys">
      <h2 id="keys">Issuers' keys</h2>
      {authentications.length === 0 && <p>No RequestAuthentication: no token is asked for or believed anywhere.</p>}
      <ul className="plain">
        {authentications.map(policy => {
          const keys = policy.status?.conditions?.find(isOfKeys)
          const good = keys?.status === "True" && keys.reason !== "Stale"
          return (
            <li key={keyOf(policy)}>
              <Mark tone={good ? "good" : keys?.status === "False" ? "bad" : "warn"}>
                {keys?.reason ?? "not known"}
              </Mark>{" "}
              <Link href={`/policies/RequestAuthentication/${keyOf(policy)}`}>{keyOf(policy)}</Link>
              {keys !== undefined && <p className="hint">{keys.message}</p>}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
