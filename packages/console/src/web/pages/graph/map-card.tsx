// SPDX-License-Identifier: Apache-2.0
// The map on the overview: the calls of the last hour, small enough to read at a glance. A click opens the map page.

import { lazy, type ReactNode, Suspense, useMemo } from "react"
import { Link, useLocation } from "wouter"
import type { ObservedCall } from "../../api/answers.js"
import { useAnswers, usePods } from "../../api/queries.js"
import { Card } from "../../ui/card.js"
import { Empty } from "../../ui/empty.js"
import { Loaded, Skeleton } from "../../ui/loaded.js"
import { count } from "../../ui/time.js"
import { aboutService, deniedAt } from "./about-service.js"
import { collapsed, type Edge, edgesOf, namespaceOf, neighbours } from "./edges.js"
import { Services } from "./services.js"
import "./graph.css"

const Drawing = lazy(() => import("./drawing.js"))

/** With more services, each namespace is one node, and only the most important nodes are drawn. */
const MANY = 12
/** The number of nodes drawn then: few enough to be readable even in a single column. */
const FOREMOST = 6
const NO_RATE = (): undefined => undefined

export function MapCard({ namespace }: { readonly namespace: string | undefined }): ReactNode {
  const [, go] = useLocation()
  const calls = useAnswers<ObservedCall>("calls?since=1h")
  const pods = usePods()
  const services = useMemo(() => new Services(pods.data ?? []), [pods.data])
  const { all, edges, left } = useMemo(() => {
    const all = edgesOf(calls.data?.items.map(({ spec }) => spec) ?? [], services)
    const found = namespace === undefined ? all : neighbours(all, namespace)
    const names = namesOf(found)
    if (names.size <= MANY) return { all, edges: found, left: 0 }
    const whole = collapsed(found, new Set([...names].map(namespaceOf).filter(Boolean)))
    const edges = foremost(whole)
    return { all, edges, left: namesOf(whole).size - namesOf(edges).size }
  }, [calls.data, services, namespace])
  return (
    <Card
      title="Map"
      note={
        <Link href="/map">
          {left > 0 && `${count(left)} more · `}
          {namespace ?? "all namespaces"} · last hour
        </Link>
      }
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
                // A new key for other services redraws the map, so that it fits into the card.
                key={[...namesOf(edges)].join()}
                edges={edges}
                rate={NO_RATE}
                centre={undefined}
                about={service => aboutService(service, services, all)}
                denied={service => deniedAt(service, all)}
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

function namesOf(edges: readonly Edge[]): ReadonlySet<string> {
  return new Set(edges.flatMap(({ from, to }) => [from, to]))
}

/** The most important edges that fit: first those with denied calls, then those in plaintext, then the busiest. */
function foremost(edges: readonly Edge[]): readonly Edge[] {
  const byImpact = [...edges].sort(
    (a, b) => b.denied - a.denied || Number(a.isMtls) - Number(b.isMtls) || b.allowed - a.allowed,
  )
  const names = new Set<string>()
  const found = byImpact.filter(({ from, to }) => {
    const next = new Set([...names, from, to])
    if (next.size > FOREMOST) return false
    names.add(from).add(to)
    return true
  })
  return edges.filter(edge => found.includes(edge))
}
