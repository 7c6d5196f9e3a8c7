// SPDX-License-Identifier: Apache-2.0
// The goals for the figures of a pair, so that a run reports whether they are met.

import type { Goal } from "../proxy/goals.js"
import { type Row, toPeer } from "../proxy/rounds.js"
import type { Scenario } from "./work.js"

/** CPU per request of both proxies relative to another pair that does the same. */
const TO_PEER: readonly (readonly [peer: string, atMost: number])[] = [
  ["Envoy", 0.5],
  ["HAProxy", 1.3],
]
/** Both directions in one process, on the recommended version of Node. */
const TOGETHER_MIB = 95

/** Returns the goals for which the run has figures. */
export function goals(
  scenarios: readonly Scenario[],
  rows: readonly Row[],
  ours: readonly string[],
  recommended: string,
): readonly Goal[] {
  const found: Goal[] = []
  const row = (scenario: string, pair: string): Row | undefined =>
    rows.find(each => each.scenario === scenario && each.proxy === pair)
  for (const { name: scenario, perSecond, together } of scenarios) {
    for (const name of ours) {
      const own = row(scenario, name)
      for (const [peer, atMost] of TO_PEER) {
        const theirs = row(scenario, peer)
        // Far below its maximum rate, a proxy's cost is mostly that of waking up.
        if (own === undefined || theirs === undefined || perSecond !== undefined) continue
        found.push({ name: `${scenario}: CPU of ${name} to ${peer}`, figure: toPeer(own, theirs), atMost, unit: "" })
      }
    }
    const resident = together === true ? row(scenario, recommended)?.residentMiB : undefined
    if (resident === undefined) continue
    found.push({ name: `${scenario}: ${recommended}, resident`, figure: resident, atMost: TOGETHER_MIB, unit: "MiB" })
  }
  return found
}
