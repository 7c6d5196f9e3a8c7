// SPDX-License-Identifier: Apache-2.0
// The mode of each port, whose word it is, and who spoke too and is not heard.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { WorkloadReport } from "../../api/answers.js"
import { Columns } from "../../ui/columns.js"
import { ListCell } from "../../ui/list-cell.js"
import { Worded } from "../../ui/worded.js"

export function PortModes({ of: { ports } }: { readonly of: WorkloadReport }): ReactNode {
  return (
    <section aria-labelledby="modes">
      <h2 id="modes">Mode of its ports</h2>
      {ports.length === 0 && <p>It declares no port, so nobody can call it.</p>}
      {ports.length > 0 && (
        <table>
          <Columns names={["Port", "Mode", "Because", "Not heard"]} />
          <tbody>
            {ports.map(({ port, protocol, mode, why, policy, losers, shadow }) => (
              <tr key={port}>
                <th scope="row">
                  {port} {protocol}
                </th>
                <td>
                  {mode}
                  {shadow !== undefined && shadow !== mode && `, with Shadow policies ${shadow}`}
                </td>
                <td>
                  {policy !== undefined && <PolicyLink name={policy} />} <Worded text={why} />
                </td>
                <ListCell of={losers} keyOf={({ policy: name }) => name}>
                  {loser => (
                    <>
                      <PolicyLink name={loser.policy} />: {loser.why}
                    </>
                  )}
                </ListCell>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function PolicyLink({ name }: { readonly name: string }): ReactNode {
  return <Link href={`/policies/PeerAuthentication/${name}`}>{name}</Link>
}
