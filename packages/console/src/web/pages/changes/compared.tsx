// SPDX-License-Identifier: Apache-2.0
// The proved net effect of all changes of a period: it omits changes that were reverted within the period.

import { type ReactNode, useMemo } from "react"
import type { PolicyDiff } from "../../api/answers.js"
import { useQuestion } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { Card } from "../../ui/card.js"
import { Loaded, Skeleton } from "../../ui/loaded.js"
import { Ago } from "../../ui/time.js"
import { DiffAnswer } from "../policies/diff-view.js"
import type { Period } from "./period.js"

interface ComparedProps {
  readonly period: Period
  readonly namespace: string | undefined
}

export function Compared({ period: { from, to, isCut }, namespace }: ComparedProps): ReactNode {
  const mayAsk = useMayAsk("diffs", namespace)
  const isReversed = to !== undefined && to < from
  const spec = useMemo(
    () => ({ since: new Date(from).toISOString(), ...(to !== undefined && { until: new Date(to).toISOString() }) }),
    [from, to],
  )
  const diff = useQuestion<PolicyDiff>("diffs", mayAsk && !isReversed ? spec : undefined, namespace)
  return (
    <Card title="Net difference" note="for the workloads that run now">
      <p className="hint">
        From <Ago at={spec.since} />
        {isCut && ", when the history began,"} to {to === undefined ? "now" : <Ago at={spec.until} />}. Changes that
        were undone in between do not show.
      </p>
      {mayAsk === undefined && <Skeleton />}
      {mayAsk === false && (
        <p className="hint">
          Comparing needs the right to create <code>diffs</code>, which the role <code>edit</code> has.
        </p>
      )}
      {isReversed && <p className="warning">The first moment is after the second. Swap them.</p>}
      {mayAsk && !isReversed && (
        <div className="diff" aria-live="polite">
          <Loaded query={diff}>{answer => <DiffAnswer diff={answer} made />}</Loaded>
        </div>
      )}
    </Card>
  )
}
