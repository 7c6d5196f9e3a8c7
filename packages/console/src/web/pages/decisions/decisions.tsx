// SPDX-License-Identifier: Apache-2.0
// Traffic: live decisions of the proxies, filtered by the address. A row opens its explanation beside the list.

import { useQuery } from "@tanstack/react-query"
import { type ReactNode, useRef, useState } from "react"
import type { Answer, Decision } from "../../api/answers.js"
import { api } from "../../api/client.js"
import { answersPath } from "../../api/queries.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { useNamespace } from "../../shell/namespace.js"
import { useSession } from "../../shell/session.js"
import { PageHead } from "../../ui/card.js"
import { Empty } from "../../ui/empty.js"
import { Failure } from "../../ui/failure.js"
import { Skeleton } from "../../ui/loaded.js"
import { count } from "../../ui/time.js"
import { DecisionDetail } from "./decision-detail.js"
import { queryOf, wantedIn } from "./decision-filter.js"
import { DecisionTable } from "./decision-table.js"
import { FilterBar } from "./filter-bar.js"
import { useLiveDecisions } from "./live-decisions.js"
import "./decisions.css"

/** Finds a decision by its id, or a shown decision by the start of its id. */
function useDecisionNamed(id: string, decisions: readonly Answer<Decision>[]) {
  const { names } = useSession()
  const shown = id === "" ? undefined : decisions.find(({ spec }) => spec.id?.startsWith(id) === true)
  const asked = useQuery({
    queryKey: ["answers", "decisions", id],
    queryFn: () => api<Answer<Decision>>(`${answersPath(names, "decisions")}/${encodeURIComponent(id)}`),
    enabled: id !== "" && shown === undefined,
    retry: false,
  })
  return { data: shown ?? asked.data, isError: id !== "" && shown === undefined && asked.isError }
}

export function Decisions(): ReactNode {
  const [search, change] = useSearchParameters()
  const wanted = wantedIn(search)
  const namespace = useNamespace()
  const [paused, setPaused] = useState(false)
  const { decisions, leftOut, error, live, loading } = useLiveDecisions(queryOf(wanted), paused, namespace)
  const [picked, setChosen] = useState<Answer<Decision>>()
  const id = search.get("id") ?? ""
  const named = useDecisionNamed(id, decisions)
  const chosen = picked ?? named.data
  const table = useRef<HTMLDivElement>(null)
  const close = (): void => {
    setChosen(undefined)
    if (id !== "") change(to => to.delete("id"))
    // The focus returns to the table, where the panel was opened.
    table.current?.focus()
  }
  return (
    <>
      <PageHead title="Traffic" sub="Every decision of every proxy, as it is made." />
      <FilterBar
        {...{ wanted, decisions, change }}
        // The button comes first in the row, where an open side panel does not cover it.
        before={
          <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
            Pause
          </button>
        }
      >
        <p className="hint" role="status">
          {count(decisions.length)} shown
          {leftOut > 0 && `, ${count(leftOut)} dropped because there were too many`}
          {live && !paused && " · live"}
        </p>
      </FilterBar>
      {error !== undefined && <Failure error={error} />}
      {named.isError && (
        <p role="alert">
          No proxy remembers decision <code>{id}</code>. Each keeps its last thousand; give the whole id to ask all of
          them.
        </p>
      )}
      {decisions.length === 0 && error === undefined && (
        <div className="card">
          {loading ? (
            <div className="body">
              <Skeleton />
            </div>
          ) : wanted.length > 0 ? (
            <Empty title="No decision matches">Remove a filter.</Empty>
          ) : (
            <Empty title="No decisions yet">Send a request to a workload and it appears here at once.</Empty>
          )}
        </div>
      )}
      {decisions.length > 0 && (
        <DecisionTable {...{ decisions, change }} pane={table} chosen={chosen?.metadata.name} choose={setChosen} />
      )}
      {chosen !== undefined && <DecisionDetail key={chosen.metadata.name} decision={chosen} close={close} />}
    </>
  )
}
