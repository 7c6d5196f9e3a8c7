// SPDX-License-Identifier: Apache-2.0
// Calls by their shape, the last ones first.

import type { ReactNode } from "react"
import type { ObservedCall } from "../../api/answers.js"
import { Columns } from "../../ui/columns.js"
import { Mark, Verdict } from "../../ui/mark.js"
import { callerName, stageWords } from "../../ui/names.js"
import { Ago, count } from "../../ui/time.js"

const MOST = 100

export function CallTable({ calls }: { readonly calls: readonly ObservedCall[] }): ReactNode {
  if (calls.length === 0) return <p>Nobody yet, as far as its proxies have told.</p>
  return (
    <>
      <table>
        <Columns names={["Caller", "Request", "Transport", "Verdict", "By", "Calls", "Last"]} />
        <tbody>
          {calls.slice(0, MOST).map(call => (
            <tr key={JSON.stringify(call)}>
              <td>{callerOf(call)}</td>
              <td>
                {call.method ?? "TCP"} {call.path} port {call.port}
              </td>
              <td>{call.tls ? <Mark tone="good">mTLS</Mark> : <Mark tone="warn">plaintext</Mark>}</td>
              <td>
                <Verdict of={call.verdict} />
              </td>
              <td>
                {call.rule === undefined ? stageWords(call.stage) : `rule ${call.rule.rule} of ${call.rule.policy}`}
              </td>
              <td>{count(call.count)}</td>
              <td>
                <Ago at={call.lastSeen} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {calls.length > MOST && <p className="hint">and {count(calls.length - MOST)} older shapes</p>}
    </>
  )
}

export function callerOf({ caller, from, address }: ObservedCall): string {
  return caller === undefined ? (from ?? address ?? "somebody") : callerName(caller)
}
