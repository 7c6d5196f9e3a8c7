// SPDX-License-Identifier: Apache-2.0
// The mesh in a few numbers.

import type { ReactNode } from "react"
import type { Answer, EnforcedNote, ProxyReport } from "../../api/answers.js"
import { conditionOf, type Pod, type Policy } from "../../api/objects.js"
import { count } from "../../ui/time.js"

interface FiguresProps {
  readonly policies: readonly Policy[]
  readonly pods: readonly Pod[]
  readonly proxies: readonly Answer<ProxyReport>[] | undefined
  readonly enforced: EnforcedNote["enforced"]
  readonly problems: number
}

export function Figures({ policies, pods, proxies, enforced: took, problems }: FiguresProps): ReactNode {
  const enforced = policies.filter(policy => conditionOf(policy, "Ready")?.status === "True").length
  const lag = Math.max(0, ...(proxies ?? []).map(({ spec }) => spec.lagMs))
  const figures: readonly (readonly [name: string, value: string])[] = [
    ["problems", count(problems)],
    ["policies in force", `${count(enforced)} of ${count(policies.length)}`],
    ["workloads", count(pods.length)],
    ...(proxies === undefined
      ? []
      : ([
          ["proxies connected", count(proxies.length)],
          ["proxies that lag", count(proxies.filter(({ spec }) => spec.behind > 0).length)],
          ["longest lag", `${count(lag)} ms`],
        ] as const)),
    ...(took === undefined
      ? []
      : ([
          [`until enforced, median of ${count(took.changes)}`, `${count(took.medianMs)} ms`],
          ["the slowest of them", `${count(took.slowestMs)} ms`],
        ] as const)),
  ]
  return (
    <dl className="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
