// SPDX-License-Identifier: Apache-2.0
// Recorded calls, the latest first.

import type { ReactNode } from "react"
import type { ObservedCall } from "../../api/answers.js"
import { Columns } from "../../ui/columns.js"
import { Empty } from "../../ui/empty.js"
import { Mark, Verdict } from "../../ui/mark.js"
import { callerOf, causeOf } from "../../ui/names.js"
import { Ago, count } from "../../ui/time.js"

const MOST = 100

export function CallTable({ calls }: { readonly calls: readonly ObservedCall[] }): ReactNode {
  if (calls.length === 0) return <Empty title="No traffic reported yet">Calls appear here within seconds.</Empty>
  return (
    <>
      <table>
        <Columns names={["Caller", "Request", "Transport", "Verdict", "Decided by", "Requests", "Last"]} />
        <tbody>
          {calls.slice(0, MOST).map(call => (
            <tr key={JSON.stringify(call)}>
              <td>{callerOf(call)}</td>
              <td>
                <span className="mono">
                  {call.method ?? "TCP"} {call.path}
                </span>{" "}
                <span className="hint">port {call.port}</span>
              </td>
              <td>{call.tls ? <Mark tone="good">mTLS</Mark> : <Mark tone="warn">plaintext</Mark>}</td>
              <td>
                <Verdict of={call.verdict} />
              </td>
              <td>{causeOf(call)}</td>
              <td>{count(call.count)}</td>
              <td>
                <Ago at={call.lastSeen} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {calls.length > MOST && <p className="hint">{count(calls.length - MOST)} older ones are not shown</p>}
    </>
  )
}
