// SPDX-License-Identifier: Apache-2.0
// The request rate of an edge, from successive counts while the page is visible.

import type { Edge } from "./edges.js"

/** The counts at one time, in milliseconds. */
interface Sample {
  readonly at: number
  readonly edges: ReadonlyMap<string, Pick<Edge, "allowed" | "denied">>
}

export type History = readonly Sample[]

export interface Rate {
  /** Per minute. */
  readonly allowed: number
  readonly denied: number
}

const SPAN_MS = 60_000
/** Proxies report their counts every few seconds: a rate over a shorter span could be several times too high. */
const LEAST_SPAN_MS = 15_000
const MINUTE_MS = 60_000

export const edgeKey = ({ from, to }: Pick<Edge, "from" | "to">): string => `${from} ${to}`

/** Older counts are dropped, except for the last one, which is the start of the span. */
export function remembered(history: History, edges: readonly Edge[], at: number): History {
  if (history.at(-1)?.at === at) return history
  const firstRecent = history.findIndex(sample => sample.at > at - SPAN_MS)
  const kept = history.slice(Math.max(0, (firstRecent < 0 ? history.length : firstRecent) - 1))
  return [...kept, { at, edges: new Map(edges.map(edge => [edgeKey(edge), edge])) }]
}

/** Undefined until the counts cover a long enough span. */
export function rateOf(history: History, key: string): Rate | undefined {
  const [first, last] = [history[0], history.at(-1)]
  if (first === undefined || last === undefined || last.at - first.at < LEAST_SPAN_MS) return undefined
  const [before, now] = [first.edges.get(key), last.edges.get(key)]
  const minutes = (last.at - first.at) / MINUTE_MS
  // Calls older than the page's time range fall out of a count, so it can decrease.
  const per = (name: keyof Rate): number => Math.max(0, (now?.[name] ?? 0) - (before?.[name] ?? 0)) / minutes
  return { allowed: per("allowed"), denied: per("denied") }
}
