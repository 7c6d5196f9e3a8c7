// SPDX-License-Identifier: Apache-2.0
// Callers by workloads: what was seen, and where somebody wants to know it, what may be, proved. A cell opens its rules.

import { type ReactNode, useState } from "react"
import { Link } from "wouter"
import type { ObservedCall, Ways } from "../../api/answers.js"
import { useAllAsked } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { callerName } from "../../ui/names.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { count } from "../../ui/time.js"
import { callerOf } from "../workloads/call-table.js"
import { WaysTable } from "../workloads/callers.js"
import { identitiesOf, isOf, type May, mayCall } from "./may-matrix.js"
import { type Cell, cellsOf } from "./seen-matrix.js"

const MOST = 40

interface TableProps {
  readonly calls: readonly ObservedCall[]
  readonly accounts: readonly string[]
  /** Those that run; seen or not, they may be called. */
  readonly running: readonly string[]
}

export function Table({ calls, accounts, running }: TableProps): ReactNode {
  const [search, change] = useSearchParameters()
  const wanted = useSearchText()
  const [chosen, setChosen] = useState<{ readonly caller: string; readonly workload: string }>()
  const mayAsk = useMayAsk("reach")
  const proving = mayAsk === true && search.has("proved")
  const cells = cellsOf(calls, callerOf)
  const identities = identitiesOf(proving ? accounts : [], cells.values(), callerName)
  const isWanted = (text: string): boolean => text.toLowerCase().includes(wanted)
  const seen = [...cells.values()].filter(({ caller, workload }) => isWanted(`${caller} ${workload}`))
  const idle = proving ? [...identities.keys()].filter(isWanted) : []
  const callers = [...new Set([...seen.map(({ caller }) => caller), ...idle])].sort()
  const uncalled = proving ? running.filter(isWanted) : []
  const workloads = [...new Set([...seen.map(({ workload }) => workload), ...uncalled])].sort()
  const asked = proving ? callers.slice(0, MOST).flatMap(caller => identities.get(caller) ?? []) : []
  const answers = useAllAsked<Ways>(
    "reach",
    asked.map(principal => ({ principal })),
  )
  const waysOf = (caller: string): Ways | undefined => answers[asked.indexOf(identities.get(caller) ?? "")]?.data
  return (
    <>
      <div className="bar">
        <SearchField label="Search by caller or workload" />
        {mayAsk === true && (
          <button
            type="button"
            aria-pressed={proving}
            onClick={() => change(to => (proving ? to.delete("proved") : to.set("proved", "")))}
          >
            Prove who may
          </button>
        )}
      </div>
      {workloads.length === 0 && <p>Nobody has called anybody yet, as far as proxies have told.</p>}
      <div className="matrix" hidden={workloads.length === 0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Caller</th>
              {workloads.slice(0, MOST).map(workload => (
                <th scope="col" key={workload}>
                  <Link href={`/workloads/${workload}`}>{workload}</Link>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {callers.slice(0, MOST).map(caller => (
              <tr key={caller}>
                <th scope="row">{caller}</th>
                {workloads.slice(0, MOST).map(workload => (
                  <td key={workload}>
                    <CellButton
                      cell={cells.get(`${caller} ${workload}`)}
                      may={proving ? mayCall(waysOf(caller), workload) : undefined}
                      name={`calls of ${caller} to ${workload}`}
                      open={() => setChosen({ caller, workload })}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <More shown={MOST} of={callers.length} hint="callers are found by searching" />
      <More shown={MOST} of={workloads.length} hint="workloads are found by searching" />
      <p className="hint">
        Numbers were seen: ✓ allowed, ✗ refused. {proving && "May and may not are proved. "}A cell opens its rules.
      </p>
      {chosen !== undefined && (
        <Rules
          {...chosen}
          cell={cells.get(`${chosen.caller} ${chosen.workload}`)}
          ways={proving ? waysOf(chosen.caller) : undefined}
        />
      )}
    </>
  )
}

interface CellButtonProps {
  readonly cell: Cell | undefined
  readonly may: May
  readonly name: string
  readonly open: () => void
}

function CellButton({ cell, may, name, open }: CellButtonProps): ReactNode {
  if (cell === undefined && may === undefined) return null
  const { allowed = 0, refused = 0 } = cell ?? {}
  return (
    <button type="button" onClick={open}>
      {may !== undefined && <Mark tone={may === "may" ? "good" : "bad"}>{may}</Mark>}{" "}
      {allowed > 0 && <Mark tone="good">{count(allowed)}</Mark>}{" "}
      {refused > 0 && <Mark tone="bad">{count(refused)}</Mark>}
      <span className="unseen"> {name}</span>
    </button>
  )
}

interface RulesProps {
  readonly caller: string
  readonly workload: string
  readonly cell: Cell | undefined
  readonly ways: Ways | undefined
}

function Rules({ caller, workload, cell, ways }: RulesProps): ReactNode {
  return (
    <section aria-label="Rules" aria-live="polite">
      <h3>
        {caller} to {workload}
      </h3>
      <ul className="plain">
        {[...(cell?.rules ?? [])].map(([rule, times]) => (
          <li key={rule}>
            {count(times)} by {rule}
          </li>
        ))}
        {cell === undefined && <li>No call was seen.</li>}
      </ul>
      {ways !== undefined && (
        <WaysTable of={{ ...ways, ways: ways.ways.filter(way => isOf(way.workload, workload)) }} />
      )}
    </section>
  )
}
