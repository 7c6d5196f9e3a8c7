// SPDX-License-Identifier: Apache-2.0
// What the dry run says of a change: rejected by an invariant, rejected for another reason, or that every invariant holds.

import type { ReactNode } from "react"
import { useAllPolicies } from "../../api/queries.js"
import { isRejectedChange } from "../../api/rejected-change.js"
import { Failure } from "../../ui/failure.js"
import { Mark } from "../../ui/mark.js"
import { count } from "../../ui/time.js"
import { type DryRun, isUndecided } from "./dry-run.js"

export function InvariantVerdict({
  dryRun: { passed, error, causes, warnings },
}: {
  readonly dryRun: DryRun
}): ReactNode {
  const invariants = useAllPolicies().find(({ entry }) => entry.kind === "PolicyInvariant")?.query.data?.length ?? 0
  if (error !== undefined) {
    if (causes.length > 0) return null
    return (
      <>
        {isRejectedChange(error) && (
          <h3>
            <Mark tone={isUndecided(error.message) ? "warn" : "bad"}>
              {isUndecided(error.message) ? "An invariant could not be decided" : "Breaks an invariant"}
            </Mark>
          </h3>
        )}
        <Failure error={error} />
      </>
    )
  }
  if (!passed || invariants === 0 || warnings.some(isUndecided)) return null
  return (
    <p>
      <Mark tone="good">
        {invariants === 1 ? "The invariant holds" : `All ${count(invariants)} invariants hold`} after this change.
      </Mark>
    </p>
  )
}
