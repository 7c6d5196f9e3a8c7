// SPDX-License-Identifier: Apache-2.0
// Proxies that are to be compared take turns in short stretches, so that what else the machine does meets them alike.
// Figures are medians over the rounds; a ratio is the median of each round's own.

import { messageOf } from "@merlon/xds/runtime"
import { type Caller, callerOf, type Scenario } from "./call.js"
import type { Material } from "./material.js"
import type { LoadFigures } from "./orders.js"
import type { Peer } from "./peers.js"
import { type Running, usage } from "./running.js"
import { type Upstreams, upstreamOf } from "./work.js"

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
/** Compilers and caches have settled once a request has not become cheaper for some seconds: soon for some, late for others. */
const CHEAPER = 0.97
const STEADY_SECONDS = 5
const WARM_UP_SECONDS = 20

/** A proxy and the work it is to do. */
export interface Entry {
  readonly scenario: Scenario
  readonly peer: Peer
}

/** What could not be measured; the others were. */
export interface Failure {
  readonly scenario: string
  readonly proxy: string
  readonly why: string
}

interface Contender extends Entry {
  readonly running: Running
  readonly caller: Caller
  readonly figures: LoadFigures[]
  readonly cpuMicroseconds: number[]
}

export async function inTurns(
  entries: readonly Entry[],
  upstreams: Upstreams,
  material: Material,
  seconds: number,
): Promise<{ readonly rows: readonly Row[]; readonly failures: readonly Failure[] }> {
  const contenders: Contender[] = []
  const failures: Failure[] = []
  try {
    for (const { scenario, peer } of entries) {
      try {
        const upstream = upstreamOf(scenario.work, upstreams)
        const running = await peer.start(scenario.work, upstream, material.folder, scenario.rules)
        const caller = callerOf(scenario, running.port, material)
        contenders.push({ scenario, peer, running, caller, figures: [], cpuMicroseconds: [] })
      } catch (error) {
        failures.push({ scenario: scenario.name, proxy: peer.name, why: messageOf(error) })
      }
    }
    let fit: readonly Contender[] = contenders
    /** Who cannot go on is named, and the others do. */
    const all = async (act: (contender: Contender) => Promise<unknown>): Promise<void> => {
      for (const contender of fit) {
        try {
          await act(contender)
        } catch (error) {
          fit = fit.filter(each => each !== contender)
          const { scenario, peer } = contender
          failures.push({ scenario: scenario.name, proxy: peer.name, why: messageOf(error) })
        }
      }
    }
    await all(warmUp)
    for (let round = 0; round < seconds / STRETCH_SECONDS; round++) await all(stretch)
    return { rows: fit.map(rowOf), failures }
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

async function warmUp(contender: Contender): Promise<void> {
  let least = Number.POSITIVE_INFINITY
  let steady = 0
  for (let second = 0; second < WARM_UP_SECONDS && steady < STEADY_SECONDS; second++) {
    const { cost } = await measured(contender, 1)
    steady = cost < least * CHEAPER ? 0 : steady + 1
    least = Math.min(least, cost)
  }
}

async function stretch(contender: Contender): Promise<void> {
  const { told, cost } = await measured(contender, STRETCH_SECONDS)
  contender.figures.push(told)
  contender.cpuMicroseconds.push(cost)
}

/** `cost` in microseconds of CPU for each request. */
async function measured(
  { running, caller }: Contender,
  seconds: number,
): Promise<{ readonly told: LoadFigures; readonly cost: number }> {
  const pid = running.process.pid ?? 0
  await caller.open()
  const before = usage(pid)
  const told = await caller.run(seconds)
  const after = usage(pid)
  if (told.requests === 0) throw new Error(`none of its requests was answered, ${told.errors} failed`)
  return { told, cost: (after.cpuMicroseconds - before.cpuMicroseconds) / told.requests }
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
