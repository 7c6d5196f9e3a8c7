// SPDX-License-Identifier: Apache-2.0
// Requests of the last hour, minute by minute, allowed and denied.

import type { UseQueryResult } from "@tanstack/react-query"
import { lazy, type ReactNode, Suspense, useState } from "react"
import type { TrafficMinute, TrafficNote } from "../../api/answers.js"
import { Card } from "../../ui/card.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { Ago, count, minuteOf } from "../../ui/time.js"
import { MINUTES, sumOf } from "./traffic-bars.js"

const TrafficChart = lazy(() => import("./traffic-chart.js"))

export function Traffic({ query }: { readonly query: UseQueryResult<TrafficNote, Error> }): ReactNode {
  return (
    <Card title="Requests per minute" note="last hour, whole mesh">
      <Loaded query={query}>{({ traffic }) => <Minutes minutes={traffic ?? []} />}</Loaded>
    </Card>
  )
}

function Minutes({ minutes }: { readonly minutes: readonly TrafficMinute[] }): ReactNode {
  /** The start of the minute under the pointer. */
  const [pointed, setPointed] = useState<string>()
  const minute = minutes.find(({ time }) => time === pointed)
  const all = sumOf(minutes)
  if (all.allowed + all.denied === 0) {
    return (
      <p>
        No traffic reported yet. Send some with{" "}
        <code>merlonctl exec consumer -n app -- xclient --host web --path / 20</code>
      </p>
    )
  }
  const { allowed, denied } = minute ?? all
  return (
    <>
      <p className="readout">
        <Mark tone="good">{count(allowed)} allowed</Mark>
        <Mark tone={denied > 0 ? "bad" : "quiet"}>{count(denied)} denied</Mark>
        <span className="hint">{minute === undefined ? "in the last hour" : `at ${minuteOf(minute.time)}`}</span>
      </p>
      <div className="chart" role="img" aria-label={descriptionOf(minutes)}>
        <Suspense>
          <TrafficChart minutes={minutes} point={at => setPointed(at === undefined ? undefined : minutes[at]?.time)} />
        </Suspense>
      </div>
      {minutes.length < MINUTES && (
        <p className="hint">
          Counted since the control plane started, <Ago at={minutes[0]?.time} />.
        </p>
      )}
    </>
  )
}

function descriptionOf(minutes: readonly TrafficMinute[]): string {
  const { allowed, denied } = sumOf(minutes)
  const [busiest] = [...minutes].sort((a, b) => b.allowed + b.denied - a.allowed - a.denied)
  const most = busiest && `, at most ${count(busiest.allowed + busiest.denied)} at ${minuteOf(busiest.time)}`
  return `Requests per minute in the last hour: ${count(allowed)} allowed and ${count(denied)} denied${most ?? ""}`
}
