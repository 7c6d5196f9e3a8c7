// SPDX-License-Identifier: Apache-2.0
// Plaintext: who still calls without mutual TLS, and the way to insist on it.

import type { ReactNode } from "react"
import { Link } from "wouter"
import type { Answer, Readiness } from "../../api/answers.js"
import { kindNamed } from "../../api/kinds.js"
import { keyOf } from "../../api/objects.js"
import { useAnswers } from "../../api/queries.js"
import { useMayWrite } from "../../api/rights.js"
import { Columns } from "../../ui/columns.js"
import { ListCell } from "../../ui/list-cell.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { Ago, count } from "../../ui/time.js"
import { STATES } from "../overview/strict-readiness.js"

type ReadyWorkload = Answer<Readiness>

const MOST_NAMESPACES = 20
/** Of one namespace. */
const MOST = 25

export function Plaintext(): ReactNode {
  const readiness = useAnswers<Readiness>("readiness")
  const wanted = useSearchText()
  return (
    <>
      <h1>Plaintext</h1>
      <p className="hint">
        A workload is ready for STRICT once nobody has called it in plaintext for a week. Who calls in plaintext after
        that is refused.
      </p>
      <div className="bar">
        <SearchField label="Search by namespace or name" />
      </div>
      <Loaded query={readiness}>
        {({ items }) => {
          if (items.length === 0) return <p>There is no workload in the mesh yet.</p>
          const namespaces = byNamespace(items.filter(one => keyOf(one).toLowerCase().includes(wanted)))
          if (namespaces.length === 0) return <p>None has this in its name.</p>
          return (
            <>
              {namespaces.slice(0, MOST_NAMESPACES).map(([namespace, workloads]) => (
                <NamespaceReadiness key={namespace} namespace={namespace} workloads={workloads} />
              ))}
              <More shown={MOST_NAMESPACES} of={namespaces.length} hint="namespaces that nobody waits for come last" />
            </>
          )
        }}
      </Loaded>
    </>
  )
}

/** Where somebody waits first, both among namespaces and in each. */
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

interface NamespaceReadinessProps {
  readonly namespace: string
  readonly workloads: readonly ReadyWorkload[]
}

function NamespaceReadiness({ namespace, workloads }: NamespaceReadinessProps): ReactNode {
  const mayWrite = useMayWrite(kindNamed("PeerAuthentication"), namespace)
  const isStrict = workloads.every(({ spec }) => spec.state === "strict")
  const refused = workloads.reduce((sum, { spec }) => sum + spec.plaintext.length, 0)
  return (
    <section aria-labelledby={`namespace-${namespace}`}>
      <h2 id={`namespace-${namespace}`}>{namespace}</h2>
      <table>
        <Columns names={["Workload", "State", "Ports", "Who calls in plaintext"]} />
        <tbody>
          {workloads.slice(0, MOST).map(workload => (
            <tr key={keyOf(workload)}>
              <th scope="row">
                <Link href={`/workloads/${keyOf(workload)}`}>{workload.metadata.name}</Link>
              </th>
              <td>
                <StateOf {...workload.spec} />
                <br />
                {workload.spec.why}
              </td>
              <td>{workload.spec.ports.map(({ port, mode }) => `${port} ${mode}`).join(", ")}</td>
              <ListCell of={workload.spec.plaintext} keyOf={({ from, address, port }) => `${from} ${address} ${port}`}>
                {({ from, port, count: calls, lastSeen }) => (
                  <>
                    {from} to port {port}, {count(calls)} calls, last <Ago at={lastSeen} />
                  </>
                )}
              </ListCell>
            </tr>
          ))}
        </tbody>
      </table>
      <More shown={MOST} of={workloads.length} />
      {mayWrite && !isStrict && (
        <p>
          {refused > 0 && (
            <Mark tone="warn">
              {count(refused)} {refused === 1 ? "caller" : "callers"} of above would be refused.
            </Mark>
          )}{" "}
          <Link className="button" href={`/policies/new?template=strict&namespace=${encodeURIComponent(namespace)}`}>
            Insist on mutual TLS in {namespace}
          </Link>
        </p>
      )}
    </section>
  )
}

function StateOf({ state }: Readiness): ReactNode {
  const known = STATES.find(one => one.state === state)
  return <Mark tone={known?.tone ?? "quiet"}>{known?.words ?? state}</Mark>
}
