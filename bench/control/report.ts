// SPDX-License-Identifier: Apache-2.0
// The figures next to their goals, and how they grow from size to size. There is no other program to compare with, so
// our figures are compared with our goals.

import { ratio, table } from "../measure.js"
import type { FloorFigures } from "./floor.js"
import type { SizeFigures } from "./size.js"

/**
 * Goals of a change for all and for one at the largest size, of a restart at the middle one, of cost at the smallest.
 */
export const GOALS = {
  all: { proxies: 10_000, ms: 2_000 },
  one: { proxies: 10_000, ms: 50 },
  restart: { proxies: 5_000, seconds: 15 },
  cost: { proxies: 1_000, kilobytesPerProxy: 60, cpuPerResourceUs: 50 },
} as const

const EXTRAPOLATED = 100_000

export function report(
  results: readonly SizeFigures[],
  skipped: readonly { readonly proxies: number; readonly why: string }[],
  floor: FloorFigures,
): string {
  const figures = table(
    [
      "proxies",
      "build",
      "all ms",
      "worst",
      "enforced ms",
      "one ms",
      "worst",
      "enforced ms",
      "µs CPU/push",
      "ms CPU/one",
      "kB/proxy",
      "peak MB",
      "first s",
      "restart s",
      "ms CPU/proxy",
      "load",
    ],
    results.map(r => [
      r.proxies,
      r.build,
      ...[r.all.acknowledgedMs, r.all.worstMs, r.all.enforcedMs],
      ...[r.one.acknowledgedMs, r.one.worstMs, r.one.enforcedMs],
      ...[r.all.cpuPerResourceUs, r.one.cpuPerChangeMs, r.kilobytesPerProxy, r.peakMegabytes],
      ...[r.connect.seconds, r.restart.seconds, r.restart.cpuPerProxyMs, Number(r.load.toFixed(1))],
    ]),
  )
  const ours = results.filter(({ build }) => build === "this")
  const growth = ours.slice(1).map((after, i) => growthLine(ours[i] ?? after, after))
  const gains = ours.flatMap(after => {
    const before = results.find(({ build, proxies }) => build === "baseline" && proxies === after.proxies)
    return before === undefined ? [] : [gainLine(before, after)]
  })
  const left = skipped.map(({ proxies, why }) => `${proxies.toLocaleString("en")} proxies not measured: ${why}`)
  return [
    "",
    figures,
    "",
    ...goals(ours),
    floorLine(floor),
    ...gains,
    ...growth,
    ...left,
    ...extrapolation(ours.at(-1)),
  ].join("\n")
}

/** Each goal next to its figure, for the measured sizes. */
function goals(results: readonly SizeFigures[]): readonly string[] {
  const at = (proxies: number, line: (figures: SizeFigures) => string): readonly string[] =>
    results.filter(figures => figures.proxies === proxies).map(figures => `at ${whole(proxies)}: ${line(figures)}`)
  const beside = (what: string, figure: number, goal: number, unit: string): string =>
    `${what} ${whole(figure)} ${unit}, goal ${whole(goal)}: ${figure <= goal ? "met" : "missed"}`
  const { all, one, restart, cost } = GOALS
  return [
    ...at(all.proxies, r => beside("a change for all", r.all.acknowledgedMs, all.ms, "ms")),
    ...at(one.proxies, r => beside("a change for one", r.one.acknowledgedMs, one.ms, "ms")),
    ...at(restart.proxies, r => beside("all back after a restart", r.restart.seconds, restart.seconds, "s")),
    ...at(cost.proxies, r => beside("memory per proxy", r.kilobytesPerProxy, cost.kilobytesPerProxy, "kB")),
    ...at(cost.proxies, r => beside("CPU per push", r.all.cpuPerResourceUs, cost.cpuPerResourceUs, "µs")),
    ...at(
      cost.proxies,
      r => `of it ${whole((r.one.cpuPerChangeMs * 1e3) / r.proxies)} µs are a change for one proxy, shared by all`,
    ),
  ]
}

/** The lower bound on Node, which no server on it can undercut. */
function floorLine({ connections, cpuPerPushUs, kilobytesPerConnection }: FloorFigures): string {
  return (
    `Node with TLS alone, ${whole(connections)} connections, the bytes of a push and of its answer: ` +
    `${cpuPerPushUs} µs CPU per push, ${kilobytesPerConnection} kB per connection`
  )
}

/** Not measured: the cost of the largest size, scaled up, on one core, because one process uses one. */
function extrapolation(largest: SizeFigures | undefined): readonly string[] {
  if (largest === undefined) return []
  const { proxies, kilobytesPerProxy, all, restart } = largest
  const pushSeconds = (all.cpuPerResourceUs * EXTRAPOLATED) / 1e6
  const restartSeconds = (restart.cpuPerProxyMs * EXTRAPOLATED) / 1e3
  const gigabytes = (kilobytesPerProxy * EXTRAPOLATED) / 1e6
  const withinAll = (GOALS.all.ms * 1e3) / all.cpuPerResourceUs
  const withinRestart = (GOALS.restart.seconds * 1e3) / restart.cpuPerProxyMs
  return [
    `${whole(EXTRAPOLATED)} proxies, reckoned from ${whole(proxies)} and not run: one replica would need ${gigabytes.toFixed(1)} GB, ` +
      `${pushSeconds.toFixed(1)} s of one core for a change for all and ${restartSeconds.toFixed(0)} s for a restart`,
    `one replica stops at about ${whole(withinAll)} proxies for a change within ${GOALS.all.ms / 1e3} s, and at ${whole(withinRestart)} ` +
      `for a restart within ${GOALS.restart.seconds} s, by its CPU alone; more need more replicas`,
  ]
}

function whole(value: number): string {
  return (value < 100 ? Number(value.toFixed(1)) : Math.round(value)).toLocaleString("en")
}

/** The cost of this build relative to the baseline, measured in the same run. */
function gainLine(before: SizeFigures, after: SizeFigures): string {
  const times = (of: (figures: SizeFigures) => number): string => `${ratio(of(after), of(before))}×`
  return [
    `at ${whole(after.proxies)}, this build to the baseline:`,
    `CPU per push ${times(r => r.all.cpuPerResourceUs)},`,
    `CPU of a change for one ${times(r => r.one.cpuPerChangeMs)},`,
    `memory per proxy ${times(r => r.kilobytesPerProxy)},`,
    `CPU per restart and proxy ${times(r => r.restart.cpuPerProxyMs)}`,
  ].join(" ")
}

/** Growth is linear if it is no faster than the fleet's: no cost per push or proxy grows with the fleet. */
function growthLine(before: SizeFigures, after: SizeFigures): string {
  const times = (of: (figures: SizeFigures) => number): string => `${ratio(of(after), of(before))}×`
  return [
    `${before.proxies} → ${after.proxies} (${ratio(after.proxies, before.proxies)}×):`,
    `time to all ${times(r => r.all.acknowledgedMs)},`,
    `CPU per push ${times(r => r.all.cpuPerResourceUs)},`,
    `memory per proxy ${times(r => r.kilobytesPerProxy)},`,
    `CPU per restart and proxy ${times(r => r.restart.cpuPerProxyMs)}`,
  ].join(" ")
}
