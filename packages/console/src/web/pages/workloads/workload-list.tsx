// SPDX-License-Identifier: Apache-2.0
// All workloads, searchable; the first hundreds are drawn.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { keyOf, type Pod } from "../../api/objects.js"
import { usePods } from "../../api/queries.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { PageHead } from "../../ui/card.js"
import { Columns } from "../../ui/columns.js"
import { Empty } from "../../ui/empty.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge } from "../../ui/mark.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { count } from "../../ui/time.js"

const MOST = 300

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
              {found.length > 0 && <WorkloadTable pods={found.slice(0, MOST)} />}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

function WorkloadTable({ pods }: { readonly pods: readonly Pod[] }): ReactNode {
  return (
    <div className="table">
      <table>
        <Columns names={["Workload", "State", "Service account", "Labels", "Address"]} />
        <tbody>
          {pods.map(pod => (
            <tr key={keyOf(pod)}>
              <th scope="row">
                <Link href={`/workloads/${keyOf(pod)}`}>{keyOf(pod)}</Link>
              </th>
              <td>
                <PodState pod={pod} />
              </td>
              <td>{pod.spec?.serviceAccountName}</td>
              <td>{labelsOf(pod)}</td>
              <td>{pod.status?.podIP}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function PodState({ pod }: { readonly pod: Pod }): ReactNode {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready")
  if (ready?.status === "True") return <Badge tone="good">ready</Badge>
  return <Badge tone="bad">{ready?.message ?? pod.status?.phase ?? "unknown"}</Badge>
}

export function labelsOf({ metadata: { labels = {} } }: Pod): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ")
}

function textOf(pod: Pod): string {
  return `${keyOf(pod)} ${labelsOf(pod)} ${pod.spec?.serviceAccountName ?? ""}`.toLowerCase()
}
