// SPDX-License-Identifier: Apache-2.0
// Proxies; those that lag come first.

import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, ProxyReport } from "../../api/answers.js"
import { keyOf, type List } from "../../api/objects.js"
import { isIn } from "../../shell/namespace.js"
import { Card } from "../../ui/card.js"
import { type Column, DataTable } from "../../ui/data-table.js"
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

const COLUMNS: readonly Column<Answer<ProxyReport>>[] = [
  { name: "Workload", by: keyOf, cell: proxy => <Link href={`/workloads/${keyOf(proxy)}`}>{keyOf(proxy)}</Link> },
  { name: "State", by: ({ spec }) => spec.lagMs, cell: ({ spec }) => <ProxyState {...spec} /> },
  {
    ...{ name: "Connected", kind: "tight", by: ({ spec }) => spec.connectedAt },
    cell: ({ spec }) => <Ago at={spec.connectedAt} />,
  },
]

function ProxyTable({ proxies }: { readonly proxies: readonly Answer<ProxyReport>[] }): ReactNode {
  return (
    <>
      <DataTable columns={COLUMNS} rows={proxies} keyOf={keyOf} most={MOST} />
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
