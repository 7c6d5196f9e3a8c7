// SPDX-License-Identifier: Apache-2.0
// Calls that the map cannot show, since only the caller's proxy reported them. Shows nothing if the user may not list them,
// or if an older control plane does not serve them.

import type { ReactNode } from "react"
import type { Destination } from "../../api/answers.js"
import { useAnswers } from "../../api/queries.js"
import { Card } from "../../ui/card.js"
import { type Column, DataTable } from "../../ui/data-table.js"
import { Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { Ago, count } from "../../ui/time.js"
import { Worded } from "../../ui/worded.js"
import { unseenByOthers } from "./edges.js"
import type { Services } from "./services.js"

const MOST = 100
const PLACES = { mesh: "in the mesh", cluster: "without a proxy", outside: "outside the mesh" }

const COLUMNS: readonly Column<Destination>[] = [
  { name: "Caller", by: ({ workload }) => workload, cell: ({ workload }) => workload },
  {
    name: "Destination",
    by: ({ destination }) => destination,
    cell: ({ destination, to }) => (to === undefined ? destination : `${destination} (${to})`),
  },
  { name: "Where", by: ({ place }) => PLACES[place], cell: ({ place }) => PLACES[place] },
  { name: "Calls", kind: "number", by: row => row.count, cell: row => count(row.count) },
  {
    ...{ name: "Failed", by: ({ failures }) => failures },
    cell: ({ failures, lastReason }) =>
      failures === 0 ? (
        "0"
      ) : (
        <>
          <Mark tone="bad">{count(failures)}</Mark> <Worded text={lastReason} />
        </>
      ),
  },
  { name: "Last call", kind: "tight", by: ({ lastSeen }) => lastSeen, cell: ({ lastSeen }) => <Ago at={lastSeen} /> },
]

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
      <DataTable
        columns={COLUMNS}
        rows={rows}
        keyOf={({ workload, destination, transport }) => `${workload} ${destination} ${transport}`}
        most={MOST}
      />
      <More shown={MOST} of={rows.length} hint="choose a workload" />
    </Card>
  )
}
