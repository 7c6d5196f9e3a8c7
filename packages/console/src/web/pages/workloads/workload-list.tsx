// SPDX-License-Identifier: Apache-2.0
// All workloads, searchable; only the first few hundred are drawn.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { keyOf, type Pod } from "../../api/objects.js"
import { usePods } from "../../api/queries.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { PageHead } from "../../ui/card.js"
import { type Column, DataTable } from "../../ui/data-table.js"
import { Empty } from "../../ui/empty.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge } from "../../ui/mark.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { count } from "../../ui/time.js"

const MOST = 300
const READY = "ready"

export function WorkloadList(): ReactNode {
  const pods = usePods()
  const text = useSearchText()
  const namespace = useNamespace()
  return (
    <>
      <PageHead title="Workloads" />
      <div className="bar">
        <SearchField label="Search by name, label or account" />
      </div>
      <Loaded query={pods}>
        {everything => {
          const all = everything.filter(pod => isIn(namespace, keyOf(pod)))
          const found = all.filter(pod => textOf(pod).includes(text))
          return (
            <>
              <p role="status" className="hint">
                {count(found.length)} of {count(all.length)}
                {found.length > MOST && `, first ${MOST} shown`}
              </p>
              {all.length === 0 && (
                <Empty title="No workloads yet">
                  <code>merlonctl run</code> starts one behind a proxy.
                </Empty>
              )}
              {found.length > 0 && (
                <div className="table">
                  <DataTable columns={COLUMNS} rows={found} keyOf={keyOf} most={MOST} />
                </div>
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

const COLUMNS: readonly Column<Pod>[] = [
  { name: "Workload", by: keyOf, cell: pod => <Link href={`/workloads/${keyOf(pod)}`}>{keyOf(pod)}</Link> },
  { name: "State", by: stateOf, cell: pod => <PodState pod={pod} /> },
  { name: "Service account", by: accountOf, cell: accountOf },
  { name: "Labels", cell: labelsOf },
  { name: "Address", by: pod => pod.status?.podIP, cell: pod => pod.status?.podIP },
]

export function PodState({ pod }: { readonly pod: Pod }): ReactNode {
  const state = stateOf(pod)
  return <Badge tone={state === READY ? "good" : "bad"}>{state}</Badge>
}

function stateOf(pod: Pod): string {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready")
  return ready?.status === "True" ? READY : (ready?.message ?? pod.status?.phase ?? "unknown")
}

function accountOf(pod: Pod): string | undefined {
  return pod.spec?.serviceAccountName
}

/** Labels that control injection or that a Deployment sets on its Pods; they do not describe the workload. */
const OF_INJECTION = /^sidecar\.[^/]+\/inject$|^pod-template-hash$/

export function labelsOf({ metadata: { labels = {} } }: Pod): string {
  return Object.entries(labels)
    .filter(([key]) => !OF_INJECTION.test(key))
    .map(([key, value]) => `${key}=${value}`)
    .join(", ")
}

function textOf(pod: Pod): string {
  return `${keyOf(pod)} ${labelsOf(pod)} ${pod.spec?.serviceAccountName ?? ""}`.toLowerCase()
}
