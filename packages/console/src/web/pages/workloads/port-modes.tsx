// SPDX-License-Identifier: Apache-2.0
// The mTLS mode of each port, the policy that sets it, and the policies it overrides.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { WorkloadReport } from "../../api/answers.js"
import { Card } from "../../ui/card.js"
import { Columns } from "../../ui/columns.js"
import { ListCell } from "../../ui/list-cell.js"
import { Worded } from "../../ui/worded.js"

export function PortModes({ of: { ports } }: { readonly of: WorkloadReport }): ReactNode {
  return (
    <Card title="mTLS mode of each port" flush>
      {ports.length === 0 && <p className="hint">It declares no port, so it cannot be called.</p>}
      {ports.length > 0 && (
        <table>
          <Columns names={["Port", "Mode", "Set by", "Overrides"]} />
          <tbody>
            {ports.map(({ port, protocol, mode, why, policy, losers, shadow }) => (
              <tr key={port}>
                <th scope="row">
                  {port} {protocol}
                </th>
                <td>
                  {mode}
                  {shadow !== undefined && shadow !== mode && `, with shadow policies ${shadow}`}
                </td>
                <td>
                  {policy !== undefined && <PolicyLink name={policy} />} <Worded text={why} />
                </td>
                <ListCell of={losers} keyOf={({ policy: name }) => name}>
                  {overridden => (
                    <>
                      <PolicyLink name={overridden.policy} />: {overridden.why}
                    </>
                  )}
                </ListCell>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  )
}

function PolicyLink({ name }: { readonly name: string }): ReactNode {
  return <Link href={`/policies/PeerAuthentication/${name}`}>{name}</Link>
}
