// SPDX-License-Identifier: Apache-2.0
// The mode of each port, whose word it is, and who spoke too and lost.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Readiness } from "../../api/answers.js"
import { Columns } from "../../ui/columns.js"

export function PortModes({ of }: { readonly of: Readiness }): ReactNode {
  return (
    <section aria-labelledby="modes">
      <h2 id="modes">Mode of its ports</h2>
      <p>{of.why}</p>
      <table>
        <Columns names={["Port", "Mode", "Because of", "Not because of"]} />
        <tbody>
          {of.ports.map(({ port, mode, by, others = [] }) => (
            <tr key={port}>
              <th scope="row">{port}</th>
              <td>{mode}</td>
              <td>
                {by === undefined ? (
                  "no policy says anything: the default"
                ) : (
                  <>
                    <PolicyLink name={by.policy} />, which speaks for the {by.scope}
                  </>
                )}
              </td>
              <td>
                <ul className="plain">
                  {others.map(({ policy, why }) => (
                    <li key={policy}>
                      <PolicyLink name={policy} />: {why}
                    </li>
                  ))}
                </ul>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function PolicyLink({ name }: { readonly name: string }): ReactNode {
  return <Link href={`/policies/PeerAuthentication/${name}`}>{name}</Link>
}
