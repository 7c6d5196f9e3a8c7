// SPDX-License-Identifier: Apache-2.0
// Who is in the mesh, searchable; of thousands the first hundreds are drawn.

import type { ReactNode } from "react"
import { Link } from "wouter"
import { keyOf, type Pod } from "../../api/objects.js"
import { usePods } from "../../api/queries.js"
import { Columns } from "../../ui/columns.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { count } from "../../ui/time.js"

const MOST = 300

export function WorkloadList(): ReactNode {
  const pods = usePods()
  const text = useSearchText()
  return (
    <>
      <h1>Workloads</h1>
      <div className="bar">
        <SearchField label="Search by name, label or account" />
      </div>
      <Loaded query={pods}>
        {all => {
          const found = all.filter(pod => textOf(pod).includes(text))
          return (
            <>
              <p role="status">
                {count(found.length)} of {count(all.length)}
                {found.length > MOST && `; the first ${MOST} are shown`}
              </p>
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
    <table>
      <Columns names={["Workload", "State", "Account", "Labels", "Address"]} />
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
  )
}

export function PodState({ pod }: { readonly pod: Pod }): ReactNode {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready")
  if (ready?.status === "True") return <Mark tone="good">ready</Mark>
  return <Mark tone="bad">{ready?.message ?? pod.status?.phase ?? "not known"}</Mark>
}

export function labelsOf({ metadata: { labels = {} } }: Pod): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ")
}

function textOf(pod: Pod): string {
  return `${keyOf(pod)} ${labelsOf(pod)} ${pod.spec?.serviceAccountName ?? ""}`.toLowerCase()
}
