// SPDX-License-Identifier: Apache-2.0
// The map on the overview: the calls of the last hour, small enough to be read at a glance. A click opens the map there.

import { lazy, type ReactNode, Suspense, useMemo } from "react"
import { Link, useLocation } from "wouter"
import type { ObservedCall } from "../../api/answers.js"
import { useAnswers, usePods } from "../../api/queries.js"
import { Card } from "../../ui/card.js"
import { Empty } from "../../ui/empty.js"
import { Loaded, Skeleton } from "../../ui/loaded.js"
import { aboutService } from "./about-service.js"
import { collapsed, edgesOf, namespaceOf, neighbours } from "./edges.js"
import { Services } from "./services.js"
import "./graph.css"

const Drawing = lazy(() => import("./drawing.js"))

/** With more services, each namespace is one node. */
const MANY = 12
const NO_RATE = (): undefined => undefined

export function MapCard({ namespace }: { readonly namespace: string | undefined }): ReactNode {
  const [, go] = useLocation()
  const calls = useAnswers<ObservedCall>("calls?since=1h")
  const pods = usePods()
  const services = useMemo(() => new Services(pods.data ?? []), [pods.data])
  const edges = useMemo(() => {
    const all = edgesOf(calls.data?.items.map(({ spec }) => spec) ?? [], services)
    const found = namespace === undefined ? all : neighbours(all, namespace)
    const names = new Set(found.flatMap(({ from, to }) => [from, to]))
    return names.size <= MANY ? found : collapsed(found, new Set([...names].map(namespaceOf).filter(Boolean)))
  }, [calls.data, services, namespace])
  return (
    <Card
      title="Map"
      note={<Link href="/map">{namespace ?? "all namespaces"} · last hour</Link>}
      flush
      className="map-card"
    >
      <Loaded query={calls}>
        {() =>
          edges.length === 0 ? (
            <Empty title="No traffic in the last hour">
              Start the sample shop with <code>merlonctl up --shop</code>
            </Empty>
          ) : (
            <Suspense fallback={<Skeleton />}>
              <Drawing
                compact
                edges={edges}
                rate={NO_RATE}
                centre={undefined}
                about={service => aboutService(service, services, edges)}
                openService={service => go(`/map/${service}`)}
                openEdge={() => go("/map")}
                toggle={name => go(`/map/${name}`)}
              />
            </Suspense>
          )
        }
      </Loaded>
    </Card>
  )
}
