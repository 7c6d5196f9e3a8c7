// SPDX-License-Identifier: Apache-2.0
// mTLS: which workloads still receive plaintext, from whom, and the switch to STRICT.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, Readiness } from "../../api/answers.js"
import { kindNamed } from "../../api/kinds.js"
import { keyOf } from "../../api/objects.js"
import { useAnswers } from "../../api/queries.js"
import { useMayWrite } from "../../api/rights.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { isIn, useNamespace } from "../../shell/namespace.js"
import { Card, PageHead } from "../../ui/card.js"
import { type Column, DataTable } from "../../ui/data-table.js"
import { DisabledButton } from "../../ui/disabled-button.js"
import { Empty } from "../../ui/empty.js"
import { CellList } from "../../ui/list-cell.js"
import { Loaded } from "../../ui/loaded.js"
import { Badge, Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { Ago, count } from "../../ui/time.js"
import { STATES } from "./states.js"
import "./plaintext.css"

type ReadyWorkload = Answer<Readiness>

const MOST_NAMESPACES = 20
/** The number of workloads shown per namespace. */
const MOST = 25

const WINDOWS = [
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
] as const
const USUAL = WINDOWS[1]

export function Plaintext(): ReactNode {
  const namespace = useNamespace()
  const [search, change] = useSearchParameters()
  const window = WINDOWS.find(({ value }) => value === search.get("window")) ?? USUAL
  const readiness = useAnswers<Readiness>(`readiness?window=${window.value}`)
  const wanted = useSearchText()
  return (
    <>
      <PageHead
        title="mTLS"
        sub={`Ready means: observed for ${window.label} without a plaintext call. With STRICT, plaintext callers are blocked.`}
      />
      <div className="bar">
        <label>
          Observation window
          <select value={window.value} onChange={({ target }) => change(to => to.set("window", target.value))}>
            {WINDOWS.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <SearchField label="Search by namespace or name" />
      </div>
      <Loaded query={readiness}>
        {({ items }) => {
          if (items.length === 0) return <Empty title="No workloads yet" />
          const namespaces = byNamespace(
            items.filter(one => isIn(namespace, keyOf(one)) && keyOf(one).toLowerCase().includes(wanted)),
          )
          if (namespaces.length === 0) return <p className="hint">No match.</p>
          return (
            <>
              {namespaces.slice(0, MOST_NAMESPACES).map(([namespace, workloads]) => (
                <NamespaceReadiness key={namespace} namespace={namespace} workloads={workloads} />
              ))}
              <More shown={MOST_NAMESPACES} of={namespaces.length} hint="namespaces without plaintext come last" />
            </>
          )
        }}
      </Loaded>
    </>
  )
}

/** Groups workloads by namespace. Those that receive plaintext come first, and so do their namespaces. */
function byNamespace(all: readonly ReadyWorkload[]): readonly (readonly [string, readonly ReadyWorkload[]])[] {
  const found = new Map<string, ReadyWorkload[]>()
  for (const one of [...all].sort((a, b) => rank(a) - rank(b))) {
    const { namespace = "" } = one.metadata
    const known = found.get(namespace)
    if (known === undefined) found.set(namespace, [one])
    else known.push(one)
  }
  return [...found]
}

function rank({ spec }: ReadyWorkload): number {
  return STATES.findIndex(({ state }) => state === spec.state)
}

const COLUMNS: readonly Column<ReadyWorkload>[] = [
  {
    name: "Workload",
    by: ({ metadata }) => metadata.name,
    cell: one => <Link href={`/workloads/${keyOf(one)}`}>{one.metadata.name}</Link>,
  },
  {
    name: "State",
    by: rank,
    cell: ({ spec }) => (
      <>
        <StateOf {...spec} /> <span className="hint">{spec.why}</span>
      </>
    ),
  },
  { name: "Ports", cell: ({ spec }) => spec.ports.map(({ port, mode }) => `${port} ${mode}`).join(", ") },
  {
    name: "Plaintext callers",
    by: ({ spec }) => -spec.plaintext.length,
    cell: ({ spec }) => (
      <CellList of={spec.plaintext} keyOf={({ from, address, port }) => `${from} ${address} ${port}`}>
        {({ from, port, count: calls, lastSeen }) => (
          <>
            {from} to port {port}, {count(calls)} requests, last <Ago at={lastSeen} />
          </>
        )}
      </CellList>
    ),
  },
]

interface NamespaceReadinessProps {
  readonly namespace: string
  readonly workloads: readonly ReadyWorkload[]
}

function NamespaceReadiness({ namespace, workloads }: NamespaceReadinessProps): ReactNode {
  const mayWrite = useMayWrite(kindNamed("PeerAuthentication"), namespace)
  const isStrict = workloads.every(({ spec }) => spec.state === "strict")
  const blocked = workloads.flatMap(({ metadata, spec }) =>
    spec.plaintext.map(call => ({ ...call, to: metadata.name })),
  )
  const label = `Require mTLS in ${namespace}`
  const unsure = workloads.filter(({ spec }) => spec.state === "unknown").length
  return (
    <Card title={namespace} flush>
      <DataTable className="readiness" columns={COLUMNS} rows={workloads} keyOf={keyOf} most={MOST} />
      <More shown={MOST} of={workloads.length} />
      {!isStrict && (
        <div className="switch">
          <div>
            {blocked.length > 0 && (
              <Mark tone="warn">
                {count(blocked.length)} plaintext {blocked.length === 1 ? "caller" : "callers"} would be blocked:
              </Mark>
            )}
            <ul className="plain">
              {blocked.slice(0, MOST).map(({ from, address, port, to }) => (
                <li key={`${from} ${address} ${port} ${to}`}>
                  {from}, which calls {to}
                </li>
              ))}
            </ul>
            <More shown={MOST} of={blocked.length} hint="see the table" />
            {unsure > 0 && (
              <p className="hint">
                {count(unsure)} {unsure === 1 ? "workload was" : "workloads were"} not observed for the whole window:
                callers not seen yet may be blocked too.
              </p>
            )}
          </div>
          {mayWrite === true && (
            <Link className="button" href={`/policies/new?template=strict&namespace=${encodeURIComponent(namespace)}`}>
              {label}
            </Link>
          )}
          {mayWrite === false && (
            <DisabledButton label={label}>
              You cannot change PeerAuthentications of {namespace}. The role <code>admin</code> of it can.
            </DisabledButton>
          )}
        </div>
      )}
    </Card>
  )
}

function StateOf({ state }: Readiness): ReactNode {
  const known = STATES.find(one => one.state === state)
  return <Badge tone={known?.tone ?? "quiet"}>{known?.words ?? state}</Badge>
}
