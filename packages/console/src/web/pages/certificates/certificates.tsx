// SPDX-License-Identifier: Apache-2.0
// Certificates of workloads, those that expire next first, and the key sets of token issuers.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, ProxyReport } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAllPolicies, useAnswers } from "../../api/queries.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { Card, PageHead } from "../../ui/card.js"
import { type Column, DataTable } from "../../ui/data-table.js"
import { Empty } from "../../ui/empty.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { Ago, count } from "../../ui/time.js"
import { KeySets } from "./key-sets.js"

const MOST = 100

export function Certificates(): ReactNode {
  const namespace = useNamespace()
  const proxies = useAnswers<ProxyReport>("proxies")
  const issuers = useAllPolicies().find(({ entry }) => entry.kind === "RequestAuthentication")
  return (
    <>
      <PageHead title="Certificates" sub="Proxies renew their certificate at half its lifetime, without a restart." />
      <Card title="Certificates expiring next" flush>
        <Loaded query={proxies}>
          {({ items }) => <Expiries proxies={items.filter(proxy => isIn(namespace, keyOf(proxy)))} />}
        </Loaded>
      </Card>
      {issuers !== undefined && !proxies.isPending && (
        <Card title="Keys of token issuers">
          <Loaded query={issuers.query}>
            {policies => <KeySets authentications={policies.filter(policy => isIn(namespace, keyOf(policy)))} />}
          </Loaded>
        </Card>
      )}
    </>
  )
}

interface Expiry {
  readonly proxy: Answer<ProxyReport>
  readonly until: string
}

const COLUMNS: readonly Column<Expiry>[] = [
  {
    name: "Workload",
    by: ({ proxy }) => keyOf(proxy),
    cell: ({ proxy }) => <Link href={`/workloads/${keyOf(proxy)}`}>{keyOf(proxy)}</Link>,
  },
  {
    name: "Expires",
    by: ({ until }) => until,
    cell: ({ until }) => (
      <>
        <Ago at={until} /> {Date.parse(until) < Date.now() && <Badge tone="bad">expired</Badge>}
      </>
    ),
  },
]

function Expiries({ proxies }: { readonly proxies: readonly Answer<ProxyReport>[] }): ReactNode {
  const known = proxies
    .flatMap(proxy =>
      proxy.spec.certificateNotAfter === undefined ? [] : [{ proxy, until: proxy.spec.certificateNotAfter }],
    )
    .sort((a, b) => (a.until < b.until ? -1 : 1))
  const unknown = proxies.length - known.length
  if (proxies.length === 0) return <Empty title="No proxy is connected">Certificates appear with the first one.</Empty>
  return (
    <>
      <DataTable columns={COLUMNS} rows={known} keyOf={({ proxy }) => keyOf(proxy)} most={MOST} />
      <More shown={MOST} of={known.length} hint="they expire later" />
      {unknown > 0 && (
        <p className="hint">
          {count(unknown)} {unknown === 1 ? "proxy does" : "proxies do"} not report an expiry. Older versions do not.
        </p>
      )}
    </>
  )
}
