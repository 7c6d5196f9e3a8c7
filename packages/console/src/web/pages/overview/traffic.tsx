// SPDX-License-Identifier: Apache-2.0
// Requests of the last hour, minute by minute, allowed and denied.

import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import type { TrafficMinute, TrafficNote } from "../../api/answers.js"
import { Card } from "../../ui/card.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { Ago, count } from "../../ui/time.js"
import { heightsOf, sumOf } from "./traffic-bars.js"

const MINUTES = 60
const HEIGHT = 20

export function Traffic({ query }: { readonly query: UseQueryResult<TrafficNote, Error> }): ReactNode {
  return (
    <Card title="Requests per minute" note="last hour, whole mesh">
      <Loaded query={query}>{({ traffic }) => <Minutes minutes={traffic ?? []} />}</Loaded>
    </Card>
  )
}

function Minutes({ minutes }: { readonly minutes: readonly TrafficMinute[] }): ReactNode {
  const { allowed, refused } = sumOf(minutes)
  if (allowed + refused === 0) {
    return (
      <p>
        No traffic reported yet. Send some with{" "}
        <code>merlonctl exec consumer -n app -- xclient --host web --path / 20</code>
      </p>
    )
  }
  return (
    <>
      <p>
        <Mark tone="good">{count(allowed)} allowed</Mark>{" "}
        <Mark tone={refused > 0 ? "bad" : "quiet"}>{count(refused)} denied</Mark>
      </p>
      <svg className="bars" viewBox={`0 0 ${MINUTES} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {heightsOf(minutes, HEIGHT).map((bar, at) => {
          const x = MINUTES - minutes.length + at
          return (
            <g key={minutes[at]?.time}>
              <rect className="allowed" x={x} width={0.8} y={HEIGHT - bar.allowed} height={bar.allowed} />
              <rect className="refused" x={x} width={0.8} y={HEIGHT - bar.allowed - bar.refused} height={bar.refused} />
            </g>
          )
        })}
      </svg>
      <p className="axis" aria-hidden="true">
        <span>an hour ago</span>
        <span>now</span>
      </p>
      <p className="hint">
        Counted since <Ago at={minutes[0]?.time} />, when the control plane started or an hour ago.
      </p>
    </>
  )
}
