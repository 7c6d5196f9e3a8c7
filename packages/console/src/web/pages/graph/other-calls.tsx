// SPDX-License-Identifier: Apache-2.0
// What the map cannot show: calls that only the caller's own proxy saw. Nothing is shown without the right to list them, or
// where the control plane is older.

import type { ReactNode } from "react"
import type { Destination } from "../../api/answers.js"
import { useAnswers } from "../../api/queries.js"
import { Card } from "../../ui/card.js"
import { Columns } from "../../ui/columns.js"
import { Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { Ago, count } from "../../ui/time.js"
import { unseenByOthers } from "./edges.js"
import type { Services } from "./services.js"

const MOST = 100
const PLACES = { mesh: "in the mesh", cluster: "without a proxy", outside: "outside the mesh" }

export function OtherCalls({
  since,
  place,
  services,
}: {
  readonly since: string
  readonly place: string | undefined
  readonly services: Services
}): ReactNode {
  const { data } = useAnswers<Destination>(`destinations?since=${encodeURIComponent(since)}`)
  const rows = unseenByOthers(data?.items.map(({ spec }) => spec) ?? [], place, services)
  if (rows.length === 0) return null
  return (
    <Card title="Calls that only the caller saw" flush>
      <table>
        <Columns names={["Caller", "Destination", "Where", "Calls", "Failed", "Last call"]} />
        <tbody>
          {rows.slice(0, MOST).map(row => (
            <DestinationRow key={`${row.workload} ${row.destination} ${row.transport}`} {...row} />
          ))}
        </tbody>
      </table>
      <More shown={MOST} of={rows.length} hint="choose a workload" />
    </Card>
  )
}

function DestinationRow(row: Destination): ReactNode {
  const { workload, destination, place, to, count: calls, failures, lastReason, lastSeen } = row
  return (
    <tr>
      <th scope="row">{workload}</th>
      <td>
        {destination}
        {to !== undefined && ` (${to})`}
      </td>
      <td>{PLACES[place]}</td>
      <td>{count(calls)}</td>
      <td>
        {failures === 0 ? (
          "0"
        ) : (
          <>
            <Mark tone="bad">{count(failures)}</Mark> {lastReason}
          </>
        )}
      </td>
      <td>
        <Ago at={lastSeen} />
      </td>
    </tr>
  )
}
