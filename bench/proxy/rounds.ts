// SPDX-License-Identifier: Apache-2.0
// Proxies that are to be compared take turns in short stretches, so that what else the machine does meets them alike.
// Figures are medians over the rounds; a ratio is the median of each round's own.

import { type Caller, callerOf, type Scenario } from "./call.js"
import type { LoadFigures } from "./load.js"
import type { Material } from "./material.js"
import type { Peer } from "./peers.js"
import { type Running, usage } from "./running.js"

export interface Row {
  readonly scenario: string
  readonly proxy: string
  readonly cpuMicroseconds: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly residentMiB: number
  readonly errors: number
  /** CPU per request of each round. */
  readonly rounds: readonly number[]
}

const STRETCH_SECONDS = 0.5
/** Compilers and caches have settled after so many requests, or so many seconds where requests are slow. */
const WARM_UP_REQUESTS = 100_000
const WARM_UP_SECONDS = 5

/** A proxy and the work it is to do. */
export interface Entry {
  readonly scenario: Scenario
  readonly peer: Peer
}

interface Contender extends Entry {
  readonly running: Running
  readonly caller: Caller
  readonly figures: LoadFigures[]
  readonly cpuMicroseconds: number[]
}

export async function inTurns(
  entries: readonly Entry[],
  upstreamPort: number,
  material: Material,
  seconds: number,
): Promise<readonly Row[]> {
  const contenders: Contender[] = []
  try {
    for (const { scenario, peer } of entries) {
      const running = await peer.start(scenario.work, upstreamPort, material.folder, scenario.rules)
      const caller = callerOf(scenario, running.port, material)
      contenders.push({ scenario, peer, running, caller, figures: [], cpuMicroseconds: [] })
    }
    for (const { caller } of contenders) await warmUp(caller)
    for (let round = 0; round < seconds / STRETCH_SECONDS; round++) {
      for (const contender of contenders) await stretch(contender)
    }
    return contenders.map(rowOf)
  } finally {
    for (const { running, caller } of contenders) {
      caller.end()
      running.process.kill("SIGKILL")
    }
  }
}

export function toPeer(ours: Row, theirs: Row | undefined): number {
  if (theirs === undefined) return Number.NaN
  return median(ours.rounds.map((cost, round) => cost / (theirs.rounds[round] ?? Number.NaN)))
}

async function warmUp(caller: Caller): Promise<void> {
  await caller.open()
  let warmed = 0
  for (let second = 0; second < WARM_UP_SECONDS && warmed < WARM_UP_REQUESTS; second++) {
    warmed += (await caller.run(1)).requests
  }
}

async function stretch({ running, caller, figures, cpuMicroseconds }: Contender): Promise<void> {
  const pid = running.process.pid ?? 0
  await caller.open()
  const before = usage(pid)
  const told = await caller.run(STRETCH_SECONDS)
  const after = usage(pid)
  figures.push(told)
  cpuMicroseconds.push((after.cpuMicroseconds - before.cpuMicroseconds) / told.requests)
}

function rowOf({ scenario, peer, running, figures, cpuMicroseconds }: Contender): Row {
  const latencies = figures.flatMap(({ latenciesMs }) => latenciesMs).sort((a, b) => a - b)
  const at = (share: number): number => Number((latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(3))
  return {
    scenario: scenario.name,
    proxy: peer.name,
    cpuMicroseconds: Number(median(cpuMicroseconds).toPrecision(3)),
    perSecond: Math.round(median(figures.map(({ requests, seconds }) => requests / seconds))),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    residentMiB: Math.round(usage(running.process.pid ?? 0).residentBytes / 1_048_576),
    errors: figures.reduce((sum, { errors }) => sum + errors, 0),
    rounds: cpuMicroseconds.map(cost => Number(cost.toPrecision(3))),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
