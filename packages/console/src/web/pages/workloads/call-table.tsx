// SPDX-License-Identifier: Apache-2.0
// Recorded calls, the latest first.

import type { ReactNode } from "react"
import type { ObservedCall } from "../../api/answers.js"
import { type Column, DataTable } from "../../ui/data-table.js"
import { Empty } from "../../ui/empty.js"
import { Mark, Verdict } from "../../ui/mark.js"
import { callerOf, causeOf } from "../../ui/names.js"
import { Ago, count } from "../../ui/time.js"

const MOST = 100

const COLUMNS: readonly Column<ObservedCall>[] = [
  { name: "Caller", by: callerOf, cell: callerOf },
  {
    name: "Request",
    by: ({ method, path }) => `${path} ${method}`,
    cell: ({ method, path, port }) => (
      <>
        <span className="mono">
          {method ?? "TCP"} {path}
        </span>{" "}
        <span className="hint">port {port}</span>
      </>
    ),
  },
  {
    name: "Transport",
    by: ({ tls }) => Number(tls),
    cell: ({ tls }) => (tls ? <Mark tone="good">mTLS</Mark> : <Mark tone="warn">plaintext</Mark>),
  },
  { name: "Verdict", by: ({ verdict }) => verdict, cell: ({ verdict }) => <Verdict of={verdict} /> },
  { name: "Decided by", by: causeOf, cell: causeOf },
  { name: "Requests", kind: "number", by: call => call.count, cell: call => count(call.count) },
  { name: "Last", kind: "tight", by: ({ lastSeen }) => lastSeen, cell: ({ lastSeen }) => <Ago at={lastSeen} /> },
]

export function CallTable({ calls }: { readonly calls: readonly ObservedCall[] }): ReactNode {
  if (calls.length === 0) return <Empty title="No traffic reported yet">Calls appear here within seconds.</Empty>
  return (
    <>
      <DataTable columns={COLUMNS} rows={calls} keyOf={JSON.stringify} most={MOST} />
      {calls.length > MOST && <p className="hint">{count(calls.length - MOST)} older ones are not shown</p>}
    </>
  )
}
