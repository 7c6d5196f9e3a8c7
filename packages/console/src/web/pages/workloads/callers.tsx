// SPDX-License-Identifier: Apache-2.0
// Who can call a workload: a list of callers and conditions that is proved to be complete.

import { type ReactNode, useMemo } from "react"
import { Link } from "wouter"
import type { Ways } from "../../api/answers.js"
import { useQuestion } from "../../api/queries.js"
import { Columns } from "../../ui/columns.js"
import { Loaded } from "../../ui/loaded.js"

export function Callers({ workload }: { readonly workload: string }): ReactNode {
  const spec = useMemo(() => ({ workload }), [workload])
  const asked = useQuestion<Ways>("callers", spec)
  return <Loaded query={asked}>{answer => <WaysTable of={answer} />}</Loaded>
}

interface WaysTableProps {
  readonly of: Ways
  /** Whether to show the called workloads. */
  readonly to?: boolean
}

export function WaysTable({ of: { ways, result, undecided }, to = false }: WaysTableProps): ReactNode {
  return (
    <>
      {ways.length > 0 && (
        <table className="even">
          <Columns names={[...(to ? ["Workload"] : []), "Callers", "Requests", "Only if", "Allowed by"]} />
          <tbody>
            {ways.map(({ workload, callers, requests, limits, policy, rule }) => (
              <tr key={`${workload} ${callers} ${requests} ${policy} ${rule}`}>
                {to && (
                  <th scope="row">
                    <Link href={`/workloads/${workload}`}>{workload}</Link>
                  </th>
                )}
                <td>{callers}</td>
                <td>{requests}</td>
                <td>{limits.join("; ")}</td>
                <td>
                  {policy === undefined ? (
                    "no policy applies"
                  ) : (
                    <Link href={`/policies/AuthorizationPolicy/${policy}`}>
                      rule {rule} of {policy}
                    </Link>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p className="hint padded">
        {result === "proved"
          ? ways.length === 0
            ? "No access (proved)."
            : "No other access (proved)."
          : `There may be more: ${[...new Set(undecided.map(({ reason }) => reason))].join("; ")}`}
      </p>
    </>
  )
}
