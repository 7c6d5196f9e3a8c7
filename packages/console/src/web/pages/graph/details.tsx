// SPDX-License-Identifier: Apache-2.0
// Side panels of the map: an edge with its requests and the rules that decided them, and a service with its neighbours.

import { type ReactNode, useState } from "react"
import { Link } from "wouter"
import type { ObservedCall } from "../../api/answers.js"
import { keyOf, type Pod } from "../../api/objects.js"
import { Mark, Verdict } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { causeOf } from "../../ui/names.js"
import { SidePanel } from "../../ui/side-panel.js"
import { Ago, count } from "../../ui/time.js"
import { isOneRequest } from "../allow/denied-call.js"
import { DeniedPanel } from "../allow/denied-panel.js"
import { PodState } from "../workloads/workload-list.js"
import type { Edge } from "./edges.js"

const MOST = 50

interface EdgePanelProps {
  readonly edge: Edge
  readonly close: () => void
}

export function EdgePanel({ edge, close }: EdgePanelProps): ReactNode {
  const [allowing, setAllowing] = useState<ObservedCall>()
  if (allowing !== undefined) return <DeniedPanel call={allowing} close={close} />
  const { from, to, allowed, denied, plaintext, calls } = edge
  return (
    <SidePanel label="Edge" title={`${from} to ${to}`} close={close}>
      <dl className="facts">
        <dt>Allowed</dt>
        <dd>{count(allowed)}</dd>
        <dt>Denied</dt>
        <dd>{denied === 0 ? "0" : <Mark tone="bad">{count(denied)}</Mark>}</dd>
        <dt>In plaintext</dt>
        <dd>{plaintext === 0 ? "0" : <Mark tone="warn">{count(plaintext)}</Mark>}</dd>
      </dl>
      <h3>Requests and the rules that decided them</h3>
      <ul className="plain">
        {calls.slice(0, MOST).map(call => (
          <li key={JSON.stringify(call)}>
            <Verdict of={call.verdict} />{" "}
            <code>
              {call.method ?? "TCP"} {call.path}
            </code>{" "}
            {count(call.count)} × port {call.port}
            <p className="hint">
              {causeOf(call)}, last <Ago at={call.lastSeen} />
            </p>
            {call.verdict !== "allow" && isOneRequest(call) && (
              <button type="button" onClick={() => setAllowing(call)}>
                Allow this…
              </button>
            )}
          </li>
        ))}
      </ul>
      <More shown={MOST} of={calls.length} hint="older ones are not shown" />
    </SidePanel>
  )
}

interface ServicePanelProps {
  readonly service: string
  readonly edges: readonly Edge[]
  readonly pods: readonly Pod[]
  readonly close: () => void
}

export function ServicePanel({ service, edges, pods, close }: ServicePanelProps): ReactNode {
  const [pod] = pods
  return (
    <SidePanel label="Service" title={service} close={close}>
      <div className="bar">
        <Link className="button" href={`/map/${service}`}>
          Focus
        </Link>
        {pod !== undefined && (
          <>
            <Link className="button" href={`/workloads/${keyOf(pod)}`}>
              Workload
            </Link>
            <Link className="button" href={`/traffic?workload=${encodeURIComponent(keyOf(pod))}`}>
              Traffic
            </Link>
            <Link className="button" href={`/playground?workload=${encodeURIComponent(keyOf(pod))}`}>
              Try a request
            </Link>
          </>
        )}
      </div>
      <h3>Pods</h3>
      <ul className="plain">
        {pods.map(one => (
          <li key={keyOf(one)}>
            <Link href={`/workloads/${keyOf(one)}`}>{keyOf(one)}</Link> <PodState pod={one} />
          </li>
        ))}
        {pods.length === 0 && <li className="hint">None is running.</li>}
      </ul>
      <Neighbours title="Called by" edges={edges.filter(({ to }) => to === service)} nameOf={({ from }) => from} />
      <Neighbours title="Calls" edges={edges.filter(({ from }) => from === service)} nameOf={({ to }) => to} />
    </SidePanel>
  )
}

interface NeighboursProps {
  readonly title: string
  readonly edges: readonly Edge[]
  readonly nameOf: (edge: Edge) => string
}

function Neighbours({ title, edges, nameOf }: NeighboursProps): ReactNode {
  return (
    <>
      <h3>{title}</h3>
      <ul className="plain">
        {edges.map(edge => (
          <li key={nameOf(edge)}>
            {nameOf(edge).includes("/") ? <Link href={`/map/${nameOf(edge)}`}>{nameOf(edge)}</Link> : nameOf(edge)}{" "}
            <span className="hint">
              {count(edge.allowed)} allowed{edge.denied > 0 && `, ${count(edge.denied)} denied`}
              {!edge.isMtls && ", in plaintext"}
            </span>
          </li>
        ))}
        {edges.length === 0 && <li className="hint">No traffic reported.</li>}
      </ul>
    </>
  )
}
