// SPDX-License-Identifier: Apache-2.0
// The figures beside their goals, and how they grow from size to size. There is no peer to run here: what is compared is
// ours with what we promise.

import { ratio, table } from "../measure.js"
import type { SizeFigures } from "./size.js"

export const GOALS = { proxies: 1_000, allMs: 1_000, oneMs: 50, kilobytesPerProxy: 200 } as const

export function report(
  results: readonly SizeFigures[],
  skipped: readonly { readonly proxies: number; readonly why: string }[],
): string {
  const figures = table(
    [
      "proxies",
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
      ...[r.all.acknowledgedMs, r.all.worstMs, r.all.enforcedMs],
      ...[r.one.acknowledgedMs, r.one.worstMs, r.one.enforcedMs],
      ...[r.all.cpuPerResourceUs, r.one.cpuPerChangeMs, r.kilobytesPerProxy, r.peakMegabytes],
      ...[r.connect.seconds, r.restart.seconds, r.restart.cpuPerProxyMs, Number(r.load.toFixed(1))],
    ]),
  )
  const goal = `goals at ${GOALS.proxies.toLocaleString("en")}: all ${GOALS.allMs} ms, one ${GOALS.oneMs} ms, ${GOALS.kilobytesPerProxy} kB per proxy, growth linear`
  const growth = results.slice(1).map((after, i) => growthLine(results[i] ?? after, after))
  const left = skipped.map(({ proxies, why }) => `${proxies.toLocaleString("en")} proxies not measured: ${why}`)
  return ["", figures, "", goal, ...growth, ...left].join("\n")
}

/** Linear is what grows no faster than the fleet, that is no cost per push, proxy or memory that grows with it. */
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
