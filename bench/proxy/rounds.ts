// SPDX-License-Identifier: Apache-2.0
// Proxies are compared in short alternating rounds, so that other load on the machine affects them equally. Figures are
// medians over the rounds; a ratio is the median of the ratios of each round.

import type { ChildProcess } from "node:child_process"
import { messageOf } from "@merlon/xds/runtime"
import type { Caller } from "./call.js"
import type { LoadFigures } from "./orders.js"
import { usage } from "./running.js"

export interface Row {
  readonly scenario: string
  readonly proxy: string
  /** Of all processes together. */
  readonly cpuMicroseconds: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly residentMiB: number
  readonly errors: number
  /** CPU per request, by round. */
  readonly rounds: readonly number[]
  /** The same for each process, in the order in which a request passes them. */
  readonly processes: readonly { readonly cpuMicroseconds: number; readonly residentMiB: number }[]
}

const STRETCH_SECONDS = 0.5
/**
 * Compilers and caches have settled once requests have not become cheaper for some seconds, which differs between
 * proxies.
 */
const CHEAPER = 0.97
const STEADY_SECONDS = 5
const WARM_UP_SECONDS = 20
/** On a busy machine, the compiler sees too few requests in that time to optimise; then the warm-up is extended. */
const WARM_UP_REQUESTS = 20_000
const LONGEST_WARM_UP_SECONDS = 60

/** A contender, and its work. */
export interface Entry {
  readonly scenario: string
  readonly proxy: string
  start(): Promise<Started>
}

export interface Started {
  /** The processes whose work counts, in the order in which a request passes them. */
  readonly processes: readonly ChildProcess[]
  readonly caller: Caller
  /** Ends everything except the caller. */
  readonly end: () => void | Promise<void>
}

/** What could not be measured; the others were. */
export interface Failure {
  readonly scenario: string
  readonly proxy: string
  readonly why: string
}

interface Contender extends Started {
  readonly entry: Entry
  readonly figures: LoadFigures[]
  /** Costs of each process, by round. */
  readonly costs: (readonly number[])[]
}

export async function measureAlternating(
  entries: readonly Entry[],
  seconds: number,
): Promise<{ readonly rows: readonly Row[]; readonly failures: readonly Failure[] }> {
  const contenders: Contender[] = []
  const failures: Failure[] = []
  const failed = ({ scenario, proxy }: Entry, error: unknown): void => {
    failures.push({ scenario, proxy, why: messageOf(error) })
  }
  try {
    for (const entry of entries) {
      try {
        contenders.push({ ...(await entry.start()), entry, figures: [], costs: [] })
      } catch (error) {
        failed(entry, error)
      }
    }
    let fit: readonly Contender[] = contenders
    /** Reports contenders that fail, and continues with the others. */
    const all = async (act: (contender: Contender) => Promise<unknown>): Promise<void> => {
      for (const contender of fit) {
        try {
          await act(contender)
        } catch (error) {
          fit = fit.filter(each => each !== contender)
          failed(contender.entry, error)
        }
      }
    }
    await all(warmUp)
    for (let round = 0; round < seconds / STRETCH_SECONDS; round++) await all(stretch)
    return { rows: fit.map(rowOf), failures }
  } finally {
    for (const { caller, end } of contenders) {
      caller.end()
      await end()
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
  let requests = 0
  for (let second = 0; second < LONGEST_WARM_UP_SECONDS; second++) {
    const isSettled = second >= WARM_UP_SECONDS || steady >= STEADY_SECONDS
    if (isSettled && requests >= WARM_UP_REQUESTS) return
    const { received, costs } = await measured(contender, 1)
    const cost = sum(costs)
    requests += received.requests
    steady = cost < least * CHEAPER ? 0 : steady + 1
    least = Math.min(least, cost)
  }
}

async function stretch(contender: Contender): Promise<void> {
  const { received, costs } = await measured(contender, STRETCH_SECONDS)
  contender.figures.push(received)
  contender.costs.push(costs)
}

/** `costs` are microseconds of CPU per request, by process. */
async function measured(
  { processes, caller }: Contender,
  seconds: number,
): Promise<{ readonly received: LoadFigures; readonly costs: readonly number[] }> {
  const used = (): readonly number[] => processes.map(({ pid = 0 }) => usage(pid).cpuMicroseconds)
  await caller.open()
  const before = used()
  const received = await caller.run(seconds)
  const after = used()
  if (received.requests === 0) throw new Error(`none of its requests was answered, ${received.errors} failed`)
  return { received, costs: after.map((cpu, n) => (cpu - (before[n] ?? 0)) / received.requests) }
}

function rowOf({ entry: { scenario, proxy }, processes, figures, costs }: Contender): Row {
  const latencies = figures.flatMap(({ latenciesMs }) => latenciesMs).sort((a, b) => a - b)
  const at = (share: number): number => Number((latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(3))
  const rounds = costs.map(sum)
  const each = processes.map(({ pid = 0 }, n) => ({
    cpuMicroseconds: Number(median(costs.map(cost => cost[n] ?? Number.NaN)).toPrecision(3)),
    residentMiB: Math.round(usage(pid).residentBytes / 1_048_576),
  }))
  return {
    scenario,
    proxy,
    cpuMicroseconds: Number(median(rounds).toPrecision(3)),
    perSecond: Math.round(median(figures.map(({ requests, seconds }) => requests / seconds))),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    residentMiB: sum(each.map(({ residentMiB }) => residentMiB)),
    errors: sum(figures.map(({ errors }) => errors)),
    rounds: rounds.map(cost => Number(cost.toPrecision(3))),
    processes: each,
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
