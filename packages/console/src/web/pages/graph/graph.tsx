// SPDX-License-Identifier: Apache-2.0
// Graph: a workload and its neighbours, or a namespace, as it was seen, with a table that says the same. Nobody sees all
// workloads at once, so a thousand stay readable.

import { lazy, type ReactNode, Suspense, useRef } from "react"
import { Link, useRoute } from "wouter"
import type { ObservedCall } from "../../api/answers.js"
import { useAnswers, usePods } from "../../api/queries.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { Columns } from "../../ui/columns.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { More } from "../../ui/more.js"
import { SearchField, useSearchText } from "../../ui/search-field.js"
import { Ago, count } from "../../ui/time.js"
import { type Edge, edgesOf, neighbours, placesIn } from "./edges.js"
import { OtherCalls } from "./other-calls.js"
import { edgeKey, type History, type Rate, rateOf, remembered } from "./rates.js"
import "./graph.css"

const Drawing = lazy(() => import("./drawing.js"))

const SPANS = ["15m", "1h", "1d", "7d", "30d"]
const MOST = 150
const MOST_PLACES = 100

export function Graph(): ReactNode {
  const [, at] = useRoute("/graph/:namespace/:name?")
  const [search, change] = useSearchParameters()
  const since = search.get("since") ?? "1d"
  const calls = useAnswers<ObservedCall>(`calls?since=${encodeURIComponent(since)}`)
  const pods = usePods()
  const place = at === null ? undefined : at.name === undefined ? at.namespace : `${at.namespace}/${at.name}`
  return (
    <>
      <h1>Graph{place === undefined ? "" : ` of ${place}`}</h1>
      <div className="bar">
        <label>
          Seen within
          <select value={since} onChange={({ target }) => change(to => to.set("since", target.value))}>
            {SPANS.map(span => (
              <option key={span}>{span}</option>
            ))}
          </select>
        </label>
        {place !== undefined && <Link href="/graph">Everything else</Link>}
      </div>
      <Loaded query={calls}>
        {({ items }) => (
          <Seen
            edges={edgesOf(
              items.map(({ spec }) => spec),
              pods.data ?? [],
            )}
            at={calls.dataUpdatedAt}
            place={place}
            key={since}
          />
        )}
      </Loaded>
      <OtherCalls since={since} place={place} />
    </>
  )
}

interface SeenProps {
  readonly edges: readonly Edge[]
  /** When they were told. */
  readonly at: number
  readonly place: string | undefined
}

function Seen({ edges, at, place }: SeenProps): ReactNode {
  const history = useRef<History>([])
  history.current = remembered(history.current, edges, at)
  const rate = (edge: Edge): Rate | undefined => rateOf(history.current, edgeKey(edge))
  if (edges.length === 0) return <p>Nobody has called anybody within this time, as far as proxies have told.</p>
  const shown = place === undefined ? edges : neighbours(edges, place)
  if (shown.length > MOST) return <Choice edges={edges} />
  return (
    <>
      <Suspense fallback={<p role="status">Drawing…</p>}>
        <Drawing edges={shown} rate={rate} centre={place} />
      </Suspense>
      <EdgeTable edges={shown} rate={rate} />
    </>
  )
}

/** Too much for one picture: where to look instead. */
function Choice({ edges }: { readonly edges: readonly Edge[] }): ReactNode {
  const wanted = useSearchText()
  const places = placesIn(edges).filter(({ place }) => place.toLowerCase().includes(wanted))
  return (
    <>
      <p>{count(edges.length)} pairs called each other: too many for one picture. Choose a workload.</p>
      <div className="bar">
        <SearchField label="Search" />
      </div>
      <ul className="plain">
        {places.slice(0, MOST_PLACES).map(({ place, calls }) => (
          <li key={place}>
            <Link href={`/graph/${place}`}>{place}</Link> {count(calls)} calls
          </li>
        ))}
      </ul>
      <More shown={MOST_PLACES} of={places.length} />
    </>
  )
}

interface EdgeTableProps {
  readonly edges: readonly Edge[]
  readonly rate: (edge: Edge) => Rate | undefined
}

function EdgeTable({ edges, rate }: EdgeTableProps): ReactNode {
  return (
    <table aria-label="The same as a table">
      <Columns names={["Caller", "Called", "Transport", "Allowed", "Refused", "Now, a minute"]} />
      <tbody>
        {edges.map(edge => (
          <EdgeRow key={edgeKey(edge)} {...edge} rate={rate(edge)} />
        ))}
      </tbody>
    </table>
  )
}

function EdgeRow(edge: Edge & { readonly rate: Rate | undefined }): ReactNode {
  const { from, to, allowed, refused, plaintext, plaintextUntil, isMtls, rate } = edge
  return (
    <tr>
      <th scope="row">{from.includes("/") ? <Link href={`/graph/${from}`}>{from}</Link> : from}</th>
      <td>
        <Link href={`/graph/${to}`}>{to}</Link>
      </td>
      <td>
        {isMtls ? <Mark tone="good">mTLS</Mark> : <Mark tone="warn">{count(plaintext)} in plaintext</Mark>}
        {isMtls && plaintextUntil !== undefined && (
          <>
            , plaintext until <Ago at={plaintextUntil} />
          </>
        )}
      </td>
      <td>{count(allowed)}</td>
      <td>{refused === 0 ? "0" : <Mark tone="bad">{count(refused)}</Mark>}</td>
      <td>
        {rate === undefined
          ? "…"
          : `${count(Math.round(rate.allowed))} allowed, ${count(Math.round(rate.refused))} refused`}
      </td>
    </tr>
  )
}
