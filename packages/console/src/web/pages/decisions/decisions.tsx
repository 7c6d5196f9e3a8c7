// SPDX-License-Identifier: Apache-2.0
// Decisions: what proxies decide, live, filtered by what stands in the address, and why each was decided so.

import { type ReactNode, useRef, useState } from "react"
import type { Answer, Decision } from "../../api/answers.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { Failure } from "../../ui/failure.js"
import { count } from "../../ui/time.js"
import { DecisionDetail } from "./decision-detail.js"
import { queryOf, wantedIn } from "./decision-filter.js"
import { DecisionTable } from "./decision-table.js"
import { FilterBar } from "./filter-bar.js"
import { useLiveDecisions } from "./live-decisions.js"
import "./decisions.css"

export function Decisions(): ReactNode {
  const [search, change] = useSearchParameters()
  const wanted = wantedIn(search)
  const [paused, setPaused] = useState(false)
  const { decisions, leftOut, error, live } = useLiveDecisions(queryOf(wanted), paused)
  const [chosen, setChosen] = useState<Answer<Decision>>()
  const table = useRef<HTMLDivElement>(null)
  const close = (): void => {
    setChosen(undefined)
    // Back to where it was opened from.
    table.current?.focus()
  }
  return (
    <>
      <h1>Decisions</h1>
      <FilterBar wanted={wanted} change={change} />
      <p className="bar" role="status">
        {count(decisions.length)} shown
        {leftOut > 0 && `, ${count(leftOut)} were too many to tell`}
        {live && !paused && " · live"}
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          Pause
        </button>
      </p>
      {error !== undefined && <Failure error={error} />}
      {decisions.length === 0 && error === undefined && (
        <p>
          {wanted.length > 0
            ? "No decision fits; take a filter away."
            : "No proxy has decided anything yet. Send a request to a workload, and it is here at once."}
        </p>
      )}
      <div className="split">
        {decisions.length > 0 && (
          <DecisionTable {...{ decisions, change }} pane={table} chosen={chosen?.metadata.name} choose={setChosen} />
        )}
        {chosen !== undefined && <DecisionDetail decision={chosen} close={close} />}
      </div>
    </>
  )
}
