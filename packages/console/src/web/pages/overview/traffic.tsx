// SPDX-License-Identifier: Apache-2.0
// Calls of the last hour, minute by minute: what was allowed and what was refused, as proxies have told whoever answers.

import type { ReactNode } from "react"
import type { ObservedCall, TrafficMinute, TrafficNote } from "../../api/answers.js"
import { useAnswers } from "../../api/queries.js"
import { Loaded } from "../../ui/loaded.js"
import { Mark } from "../../ui/mark.js"
import { Ago, count } from "../../ui/time.js"
import { heightsOf, sumOf } from "./traffic-bars.js"

const MINUTES = 60
const HEIGHT = 20

export function Traffic(): ReactNode {
  const calls = useAnswers<ObservedCall, TrafficNote>("calls?limit=1")
  return (
    <section aria-labelledby="traffic">
      <h2 id="traffic">Calls of the last hour</h2>
      <Loaded query={calls}>{({ traffic }) => <Minutes minutes={traffic ?? []} />}</Loaded>
    </section>
  )
}

function Minutes({ minutes }: { readonly minutes: readonly TrafficMinute[] }): ReactNode {
  const { allowed, refused } = sumOf(minutes)
  if (allowed + refused === 0) return <p>None, as far as proxies have told.</p>
  return (
    <>
      <p>
        <Mark tone="good">{count(allowed)} allowed</Mark>{" "}
        <Mark tone={refused > 0 ? "bad" : "quiet"}>{count(refused)} refused</Mark>
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
        A bar is a minute; counted since <Ago at={minutes[0]?.time} /> by the control plane that answers, from what its
        proxies tell every few seconds.
      </p>
    </>
  )
}
