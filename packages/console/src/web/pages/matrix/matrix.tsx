// SPDX-License-Identifier: Apache-2.0
// Who may call whom: what an identity can reach by proof, beside what it was seen to call.

import { type ReactNode, useMemo, useState } from "react"
import { Link } from "wouter"
import type { SeenCall, Ways } from "../../api/answers.js"
import { useAnswers, useAsked, usePods } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { useFollowValue } from "../../ui/follow-value.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { count } from "../../ui/time.js"
import { callerOf } from "../workloads/call-table.js"
import { WaysTable } from "../workloads/callers.js"
import { cellsOf } from "./seen-matrix.js"
import "./matrix.css"

const MOST = 40

export function Matrix(): ReactNode {
  const calls = useAnswers<SeenCall>("calls")
  return (
    <>
      <h1>Who may call whom</h1>
      <Reachable />
      <section aria-labelledby="seen">
        <h2 id="seen">Who did</h2>
        <Loaded query={calls}>{({ items }) => <SeenTable calls={items.map(({ spec }) => spec)} />}</Loaded>
      </section>
    </>
  )
}

/** What one identity can reach, chosen from those that run. */
function Reachable(): ReactNode {
  const pods = usePods()
  const mayAsk = useMayAsk("reach")
  const [search, change] = useSearchParameters()
  const accounts = [
    ...new Set(
      (pods.data ?? []).map(
        ({ metadata, spec }) => `cluster.local/ns/${metadata.namespace}/sa/${spec?.serviceAccountName ?? "default"}`,
      ),
    ),
  ].sort()
  const principal = search.get("as") ?? accounts[0]
  const field = useFollowValue(principal ?? "")
  const spec = useMemo(() => ({ principal }), [principal])
  const reach = useAsked<Ways>("reach", mayAsk && principal !== undefined ? spec : undefined)
  if (mayAsk === false) return <p className="hint">Proofs take the right to create `reach`, which you do not have.</p>
  return (
    <section aria-labelledby="may">
      <h2 id="may">What an identity may call</h2>
      <div className="bar">
        <label>
          Identity
          <input
            list="accounts"
            ref={field}
            onBlur={({ target }) => target.value !== "" && change(to => to.set("as", target.value))}
            onKeyDown={({ key, currentTarget }) => key === "Enter" && change(to => to.set("as", currentTarget.value))}
          />
        </label>
        <datalist id="accounts">
          {accounts.map(account => (
            <option key={account}>{account}</option>
          ))}
        </datalist>
      </div>
      <Loaded query={reach}>
        {answer =>
          [...new Set(answer.ways.map(({ workload }) => workload))].map(workload => (
            <details key={workload} open={answer.ways.length < 10}>
              <summary>
                <Mark tone="good">{workload}</Mark>
              </summary>
              <WaysTable of={{ ...answer, ways: answer.ways.filter(way => way.workload === workload) }} />
            </details>
          ))
        }
      </Loaded>
    </section>
  )
}

function SeenTable({ calls }: { readonly calls: readonly SeenCall[] }): ReactNode {
  const [chosen, setChosen] = useState<string>()
  const wanted = useSearchText()
  const cells = cellsOf(calls, callerOf)
  if (cells.size === 0) return <p>Nobody has called anybody yet, as far as proxies have told.</p>
  const shown = [...cells.values()].filter(cell => `${cell.caller} ${cell.workload}`.toLowerCase().includes(wanted))
  const callers = [...new Set(shown.map(({ caller }) => caller))].sort()
  const workloads = [...new Set(shown.map(({ workload }) => workload))].sort()
  const detail = chosen === undefined ? undefined : cells.get(chosen)
  return (
    <>
      <div className="bar">
        <SearchField label="Search by caller or workload" />
      </div>
      <div className="matrix">
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
                {workloads.slice(0, MOST).map(workload => {
                  const key = `${caller} ${workload}`
                  const cell = cells.get(key)
                  return (
                    <td key={workload}>
                      {cell !== undefined && (
                        <button type="button" onClick={() => setChosen(key)}>
                          {cell.allowed > 0 && <Mark tone="good">{count(cell.allowed)}</Mark>}{" "}
                          {cell.refused > 0 && <Mark tone="bad">{count(cell.refused)}</Mark>}
                          <span className="unseen">
                            {" "}
                            calls of {caller} to {workload}
                          </span>
                        </button>
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <More shown={MOST} of={callers.length} hint="callers are found by searching" />
      <More shown={MOST} of={workloads.length} hint="workloads are found by searching" />
      <p className="hint">✓ allowed, ✗ refused; a number opens the rules.</p>
      {detail !== undefined && (
        <section aria-label="Rules" aria-live="polite">
          <h3>
            {detail.caller} to {detail.workload}
          </h3>
          <ul className="plain">
            {[...detail.rules].map(([rule, times]) => (
              <li key={rule}>
                {count(times)} by {rule}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}
