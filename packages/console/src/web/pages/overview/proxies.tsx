// SPDX-License-Identifier: Apache-2.0
// Proxies that lag first: what each is to enforce, and since when it does not.

import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, ProxyReport } from "../../api/answers.js"
import { keyOf, type List } from "../../api/objects.js"
import { Columns } from "../../ui/columns.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { Ago, count } from "../../ui/time.js"

const MOST = 20

export function Proxies({ query }: { readonly query: UseQueryResult<List<Answer<ProxyReport>>, Error> }): ReactNode {
  return (
    <section aria-labelledby="proxies">
      <h2 id="proxies">Proxies</h2>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <p>
              None is connected. <code>merlonctl run</code> starts a workload behind one.
            </p>
          ) : (
            <ProxyTable proxies={[...items].sort((a, b) => b.spec.lagMs - a.spec.lagMs)} />
          )
        }
      </Loaded>
    </section>
  )
}

function ProxyTable({ proxies }: { readonly proxies: readonly Answer<ProxyReport>[] }): ReactNode {
  return (
    <>
      <table>
        <Columns names={["Workload", "State", "Connected"]} />
        <tbody>
          {proxies.slice(0, MOST).map(proxy => (
            <tr key={keyOf(proxy)}>
              <th scope="row">
                <Link href={`/workloads/${keyOf(proxy)}`}>{keyOf(proxy)}</Link>
              </th>
              <td>
                <ProxyState {...proxy.spec} />
              </td>
              <td className="tight">
                <Ago at={proxy.spec.connectedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {proxies.length > MOST && <p className="hint">and {count(proxies.length - MOST)} that lag less</p>}
    </>
  )
}

export function ProxyState({ rejection, behind, lagMs }: ProxyReport): ReactNode {
  if (rejection !== undefined) return <Mark tone="bad">rejects: {rejection}</Mark>
  if (behind === 0) return <Mark tone="good">enforces all</Mark>
  return (
    <Mark tone="warn">
      {count(behind)} behind for {count(lagMs)} ms
    </Mark>
  )
}
