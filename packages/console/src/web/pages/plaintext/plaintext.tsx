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
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { Ago, count } from "../../ui/time.js"
import { STATES } from "../overview/strict-readiness.js"

export function Plaintext(): ReactNode {
  const readiness = useAnswers<Readiness>("readiness")
  return (
    <>
      <h1>Plaintext</h1>
      <p className="hint">
        A workload is ready for STRICT once nobody has called it in plaintext for a week. Who calls in plaintext after
        that is refused.
      </p>
      <Loaded query={readiness}>
        {({ items }) => {
          const namespaces = [...new Set(items.map(({ metadata }) => metadata.namespace ?? ""))].sort()
          if (items.length === 0) return <p>There is no workload in the mesh yet.</p>
          return namespaces.map(namespace => (
            <NamespaceReadiness
              key={namespace}
              namespace={namespace}
              workloads={items.filter(({ metadata }) => metadata.namespace === namespace)}
            />
          ))
        }}
      </Loaded>
    </>
  )
}

interface NamespaceReadinessProps {
  readonly namespace: string
  readonly workloads: readonly Answer<Readiness>[]
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
          {workloads.map(workload => (
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
              <td>
                <ul className="plain">
                  {workload.spec.plaintext.map(({ from, address, port, count: calls, lastSeen }) => (
                    <li key={`${from} ${address} ${port}`}>
                      {from} to port {port}, {count(calls)} calls, last <Ago at={lastSeen} />
                    </li>
                  ))}
                </ul>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {mayWrite && !isStrict && (
        <p>
          {refused > 0 && (
            <Mark tone="warn">
              {count(refused)} {refused === 1 ? "caller" : "callers"} of above would be refused.
            </Mark>
          )}{" "}
          <Link href={`/policies/new?template=strict&namespace=${encodeURIComponent(namespace)}`}>
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
