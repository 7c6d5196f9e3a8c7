// SPDX-License-Identifier: Apache-2.0
// The conditions of a policy.

import type { ReactNode } from "react"
import type { Condition } from "../../api/objects.js"
import { Columns } from "../../ui/columns.js"
import { Badge } from "../../ui/mark.js"
import { Ago } from "../../ui/time.js"
import { Worded } from "../../ui/worded.js"
import { isBad } from "../overview/problems.js"

export function Conditions({ conditions }: { readonly conditions: readonly Condition[] }): ReactNode {
  if (conditions.length === 0) return <p role="status">The control plane has not checked it yet.</p>
  return (
    <table aria-label="Conditions">
      <Columns names={["Condition", "State", "Message", "Since"]} />
      <tbody>
        {conditions.map(condition => (
          <tr key={condition.type}>
            <th scope="row" className="nowrap">
              {condition.type}
            </th>
            <td>
              <Badge tone={isBad(condition) ? (condition.status === "Unknown" ? "warn" : "bad") : "good"}>
                {condition.reason}
              </Badge>
            </td>
            <td>
              <Worded text={condition.message} />
            </td>
            <td className="tight">
              <Ago at={condition.lastTransitionTime} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
