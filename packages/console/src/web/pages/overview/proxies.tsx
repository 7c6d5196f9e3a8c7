// SPDX-License-Identifier: Apache-2.0
// Proxies, those that lag first.

import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, ProxyReport } from "../../api/answers.js"
import { keyOf, type List } from "../../api/objects.js"
import { isIn } from "../../shell/namespace.js"
import { Card } from "../../ui/card.js"
import { Columns } from "../../ui/columns.js"
import { Empty } from "../../ui/empty.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { Ago, count } from "../../ui/time.js"

const MOST = 10

interface ProxiesProps {
  readonly query: UseQueryResult<List<Answer<ProxyReport>>, Error>
  readonly namespace: string | undefined
}

export function Proxies({ query, namespace }: ProxiesProps): ReactNode {
  return (
    <Card title="Proxies" flush>
      <Loaded query={query}>
        {({ items }) => {
          const shown = items.filter(proxy => isIn(namespace, keyOf(proxy)))
          if (shown.length === 0) {
            return (
              <Empty title="No proxy is connected">
                <code>merlonctl run</code> starts a workload behind a proxy.
              </Empty>
            )
          }
          return <ProxyTable proxies={[...shown].sort((a, b) => b.spec.lagMs - a.spec.lagMs)} />
        }}
      </Loaded>
    </Card>
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
      {proxies.length > MOST && <p className="hint">{count(proxies.length - MOST)} more lag less</p>}
    </>
  )
}

export function ProxyState({ rejection, behind, lagMs }: ProxyReport): ReactNode {
  if (rejection !== undefined) return <Mark tone="bad">rejected: {rejection}</Mark>
  if (behind === 0) return <Mark tone="good">in sync</Mark>
  return (
    <Mark tone="warn">
      {count(behind)} behind for {count(lagMs)} ms
    </Mark>
  )
}
