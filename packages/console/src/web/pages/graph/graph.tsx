// SPDX-License-Identifier: Apache-2.0
// Map: one node per service, grouped by namespace and laid out along the calls, and a table with the same content. Services
// and edges open side panels; large meshes start with collapsed namespaces.

import { lazy, type ReactNode, Suspense, useMemo, useRef, useState } from "react"
import { Link, useRoute } from "wouter"
import type { ObservedCall } from "../../api/answers.js"
import { useAnswers, usePods } from "../../api/queries.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { useNamespace } from "../../shell/namespace.js"
import { Card, PageHead } from "../../ui/card.js"
import { Empty } from "../../ui/empty.js"
import { Loaded, Skeleton } from "../../ui/loaded.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { aboutService, deniedAt } from "./about-service.js"
import { EdgePanel, ServicePanel } from "./details.js"
import { EdgeTable } from "./edge-table.js"
import { collapsed, type Edge, edgesOf, namespaceOf, neighbours } from "./edges.js"
import { OtherCalls } from "./other-calls.js"
import { edgeKey, type History, type Rate, rateOf, remembered } from "./rates.js"
import { Services } from "./services.js"
import "./graph.css"

const Drawing = lazy(() => import("./drawing.js"))

const SPANS = [
  ["15m", "Last 15 minutes"],
  ["1h", "Last hour"],
  ["1d", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
] as const
/** With more services, namespaces start collapsed. */
const MANY = 60

export function Graph(): ReactNode {
  const [, at] = useRoute("/map/:namespace/:name?")
  const [search, change] = useSearchParameters()
  const namespace = useNamespace()
  const since = search.get("since") ?? "1d"
  const calls = useAnswers<ObservedCall>(`calls?since=${encodeURIComponent(since)}`)
  const pods = usePods()
  const services = useMemo(() => new Services(pods.data ?? []), [pods.data])
  const place =
    at === null ? namespace : at.name === undefined ? at.namespace : services.ofWorkload(`${at.namespace}/${at.name}`)
  return (
    <>
      <PageHead
        title={at === null ? "Map" : `Map of ${place}`}
        sub="Who calls whom, by mutual TLS or in plaintext, and what is denied."
      >
        {at !== null && (
          <Link className="button" href="/map">
            Show all
          </Link>
        )}
      </PageHead>
      <div className="bar">
        <label>
          Time range
          <select value={since} onChange={({ target }) => change(to => to.set("since", target.value))}>
            {SPANS.map(([span, label]) => (
              <option key={span} value={span}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <SearchField label="Search services" />
      </div>
      <Loaded query={calls}>
        {({ items }) => (
          // Also waits with the content below the drawing, which would move when the drawing appears.
          <Suspense fallback={<Skeleton />}>
            <Observed
              edges={edgesOf(
                items.map(({ spec }) => spec),
                services,
              )}
              services={services}
              at={calls.dataUpdatedAt}
              place={place}
              key={since}
            />
            <OtherCalls since={since} place={place} services={services} />
          </Suspense>
        )}
      </Loaded>
    </>
  )
}

interface ObservedProps {
  readonly edges: readonly Edge[]
  readonly services: Services
  /** When the edges were reported. */
  readonly at: number
  readonly place: string | undefined
}

type Opened = { readonly service: string } | { readonly from: string; readonly to: string }

function Observed({ edges, services, at, place }: ObservedProps): ReactNode {
  const history = useRef<History>([])
  history.current = remembered(history.current, edges, at)
  const rate = (edge: Edge): Rate | undefined => rateOf(history.current, edgeKey(edge))
  const [opened, setOpened] = useState<Opened>()
  /** Namespaces that the user collapsed or expanded. */
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const wanted = useSearchText()
  const found = (place === undefined ? edges : neighbours(edges, place)).filter(({ from, to }) =>
    `${from} ${to}`.toLowerCase().includes(wanted),
  )
  if (edges.length === 0) {
    return (
      <div className="card">
        <Empty title="No traffic reported in this time range">
          Send some with <code>merlonctl exec consumer -n app -- xclient --host web --path / 20</code>
        </Empty>
      </div>
    )
  }
  const all = [...new Set(found.flatMap(({ from, to }) => [namespaceOf(from), namespaceOf(to)]))].filter(
    name => name !== "",
  )
  const startsCollapsed = new Set(found.flatMap(({ from, to }) => [from, to])).size > MANY
  const closed = new Set(all.filter(name => startsCollapsed !== toggled.has(name)))
  const drawn = collapsed(found, closed)
  const toggle = (name: string): void => {
    const next = new Set(toggled)
    if (!next.delete(name)) next.add(name)
    setToggled(next)
  }
  const edge =
    opened !== undefined && "from" in opened ? edges.find(one => edgeKey(one) === edgeKey(opened)) : undefined
  return (
    <>
      <Card
        title="Services"
        flush
        note={
          <span className="legend" aria-hidden="true">
            <span>mTLS</span>
            <span className="plaintext">plaintext</span>
            <span className="denied">denied</span>
          </span>
        }
      >
        {found.length === 0 ? (
          <Empty title="No service matches" />
        ) : (
          <>
            <Drawing
              key={`${place} ${wanted} ${[...closed].join()}`}
              edges={drawn}
              rate={rate}
              centre={place}
              about={service => aboutService(service, services, edges)}
              denied={service => deniedAt(service, edges)}
              openService={service => setOpened({ service })}
              openEdge={one => setOpened({ from: one.from, to: one.to })}
              toggle={toggle}
            />
            <EdgeTable edges={found} rate={rate} open={one => setOpened({ from: one.from, to: one.to })} />
          </>
        )}
      </Card>
      {edge !== undefined && <EdgePanel key={edgeKey(edge)} edge={edge} close={() => setOpened(undefined)} />}
      {opened !== undefined && "service" in opened && (
        <ServicePanel
          key={opened.service}
          service={opened.service}
          edges={edges}
          pods={services.podsOf(opened.service)}
          close={() => setOpened(undefined)}
        />
      )}
    </>
  )
}
