// SPDX-License-Identifier: Apache-2.0
// What must stay true, and whether it is.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { conditionOf, keyOf, type Policy } from "../../api/objects.js"
import { Mark } from "../../ui/mark.js"

export function Invariants({ invariants }: { readonly invariants: readonly Policy[] }): ReactNode {
  return (
    <section aria-labelledby="invariants">
      <h2 id="invariants">Invariants</h2>
      {invariants.length === 0 && (
        <p>
          Nothing is stated that must stay true. <Link href="/policies/new?template=invariant">State something</Link>,
          and changes that would break it are refused.
        </p>
      )}
      <ul className="plain">
        {invariants.map(invariant => {
          const holds = conditionOf(invariant, "Holds")
          return (
            <li key={keyOf(invariant)}>
              <Mark tone={holds?.status === "True" ? "good" : holds?.status === "False" ? "bad" : "warn"}>
                {holds?.status === "True" ? "holds" : holds?.status === "False" ? "broken" : "not decided"}
              </Mark>{" "}
              <Link href={`/policies/PolicyInvariant/${keyOf(invariant)}`}>{keyOf(invariant)}</Link>
              {holds !== undefined && holds.status !== "True" && <p>{holds.message}</p>}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
