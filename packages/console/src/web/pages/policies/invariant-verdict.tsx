// SPDX-License-Identifier: Apache-2.0
// The result of a dry run: the change is rejected by an invariant or for another reason, it breaks an invariant, or all
// invariants hold.

import type { ReactNode } from "react"
import { useAllPolicies } from "../../api/queries.js"
import { isRejectedChange } from "../../api/rejected-change.js"
import { Failure } from "../../ui/failure.js"
import { Mark } from "../../ui/mark.js"
import { count } from "../../ui/time.js"
import { allHold, type DryRun, isBroken, isUndecided } from "./dry-run.js"

interface InvariantVerdictProps {
  readonly dryRun: DryRun
  /** The kind of the edited policy. */
  readonly kind: string | undefined
}

export function InvariantVerdict({ dryRun, kind }: InvariantVerdictProps): ReactNode {
  const { passed, error, causes, warnings } = dryRun
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
  const isInvariant = kind === "PolicyInvariant"
  if (passed && warnings.some(isBroken)) {
    return (
      <p>
        <Mark tone="warn">{isInvariant ? "This invariant does not hold yet." : "Breaks an invariant."}</Mark>
      </p>
    )
  }
  // Editing an invariant does not affect other ones, and the absence of a warning is no proof that the edited one holds.
  if (isInvariant || invariants === 0 || !allHold(dryRun)) return null
  return (
    <p>
      <Mark tone="good">
        {invariants === 1 ? "The invariant holds" : `All ${count(invariants)} invariants hold`} after this change.
      </Mark>
    </p>
  )
}
