// SPDX-License-Identifier: Apache-2.0
// A table of callers and workloads: recorded calls and, on request, the proved access. A cell opens its rules.

import { type ReactNode, useState } from "react"
import { Link } from "wouter"
import type { ObservedCall, Ways } from "../../api/answers.js"
import { useQuestions } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { download } from "../../ui/download.js"
import { Empty } from "../../ui/empty.js"
import { Skeleton } from "../../ui/loaded.js"
import { Badge, Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { callerName, callerOf } from "../../ui/names.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { count } from "../../ui/time.js"
import { WaysTable } from "../workloads/callers.js"
import { csvOf } from "./csv.js"
import { type Access, accessOf, identitiesOf, isOf } from "./may-matrix.js"
import { type Cell, cellsOf } from "./seen-matrix.js"

const MOST = 40
/** Up to this many identities, access is proved without asking the user. Each needs a proof over all workloads. */
const FEW = 12
/** The value of `proved` in the address if the user wants no proofs. */
const NO = "no"

interface TableProps {
  readonly calls: readonly ObservedCall[]
  readonly accounts: readonly string[]
  /** Running workloads, even if nothing called them. */
  readonly running: readonly string[]
}

export function Table({ calls, accounts, running }: TableProps): ReactNode {
  const [search, change] = useSearchParameters()
  const wanted = useSearchText()
  const namespace = useNamespace()
  const [chosen, setChosen] = useState<{ readonly caller: string; readonly workload: string }>()
  const mayAsk = useMayAsk("reach")
  const proving = mayAsk === true && (search.get("proved") ?? (accounts.length > FEW ? NO : "")) !== NO
  const cells = cellsOf(calls, callerOf)
  const identities = identitiesOf(proving ? accounts : [], cells.values(), callerName)
  const isWanted = (text: string): boolean => text.toLowerCase().includes(wanted)
  const isHere = (...keys: readonly string[]): boolean => keys.some(key => isIn(namespace, key))
  const seen = [...cells.values()].filter(
    ({ caller, workload }) => isHere(caller, workload) && isWanted(`${caller} ${workload}`),
  )
  const idle = proving ? [...identities.keys()].filter(isWanted) : []
  const callers = [...new Set([...seen.map(({ caller }) => caller), ...idle])].sort()
  const uncalled = proving ? running.filter(key => isHere(key) && isWanted(key)) : []
  const workloads = [...new Set([...seen.map(({ workload }) => workload), ...uncalled])].sort()
  const asked = proving ? callers.slice(0, MOST).flatMap(caller => identities.get(caller) ?? []) : []
  const answers = useQuestions<Ways>(
    "reach",
    asked.map(principal => ({ principal })),
  )
  const answerOf = (caller: string) => answers[asked.indexOf(identities.get(caller) ?? "")]
  const waysOf = (caller: string): Ways | undefined => answerOf(caller)?.data
  const wordOf = (caller: string, workload: string): Word | undefined => {
    const answer = answerOf(caller)
    if (answer === undefined) return undefined
    return answer.isPending ? "…" : (accessOf(answer.data, workload) ?? "not decided")
  }
  const textOf = (caller: string, workload: string): string => {
    const { allowed = 0, denied = 0 } = cells.get(`${caller} ${workload}`) ?? {}
    const counts = allowed + denied === 0 ? [] : [`${allowed} allowed, ${denied} denied`]
    return [...(proving ? [accessOf(waysOf(caller), workload) ?? "not proved"] : []), ...counts].join("; ")
  }
  const exportCsv = (): void => {
    const rows = callers.map(caller => [caller, ...workloads.map(workload => textOf(caller, workload))])
    download("access.csv", csvOf([["caller", ...workloads], ...rows]), "text/csv")
  }
  if (mayAsk === undefined) return <Skeleton />
  return (
    <>
      <div className="bar">
        <SearchField label="Search by caller or workload" />
        {mayAsk === true && (
          <button
            type="button"
            aria-pressed={proving}
            onClick={() => change(to => to.set("proved", proving ? NO : ""))}
          >
            Prove who can
          </button>
        )}
        <button type="button" disabled={workloads.length === 0} onClick={exportCsv}>
          Export CSV
        </button>
      </div>
      {workloads.length === 0 && (
        <Empty title="No traffic reported yet">Prove who can call whom, or send a request.</Empty>
      )}
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
                      access={wordOf(caller, workload)}
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
      <More shown={MOST} of={callers.length} hint="search for callers" />
      <More shown={MOST} of={workloads.length} hint="search for workloads" />
      <p className="hint">
        Counts are observed requests.{" "}
        {proving && "“all”, “some” (only some paths, or only with a token) and “none” are proved. "}Click a cell to see
        its rules.
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
  readonly access: Word | undefined
  readonly name: string
  readonly open: () => void
}

/** The text of a cell; `…` while its proof is running. */
type Word = NonNullable<Access> | "not decided" | "…"

const TONES = { all: "good", some: "warn", none: "quiet", "not decided": "quiet", "…": "quiet" } as const

function CellButton({ cell, access, name, open }: CellButtonProps): ReactNode {
  if (cell === undefined && access === undefined) return null
  const { allowed = 0, denied = 0 } = cell ?? {}
  return (
    <button type="button" onClick={open}>
      {access !== undefined && <Badge tone={TONES[access]}>{access}</Badge>}{" "}
      {allowed > 0 && <Mark tone="good">{count(allowed)}</Mark>} {denied > 0 && <Mark tone="bad">{count(denied)}</Mark>}
      <span className="visually-hidden"> {name}</span>
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
            {count(times)}: {rule}
          </li>
        ))}
        {cell === undefined && <li>No recorded call.</li>}
      </ul>
      {ways !== undefined && (
        <WaysTable of={{ ...ways, ways: ways.ways.filter(way => isOf(way.workload, workload)) }} />
      )}
    </section>
  )
}
