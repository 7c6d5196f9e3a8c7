// SPDX-License-Identifier: Apache-2.0
// Entries of the history by day in the browser's time zone, and which of their policies still exist.

import type { HistoryEntry } from "../../api/answers.js"

export interface Day {
  /** Midnight at the start of the day, in milliseconds. */
  readonly start: number
  readonly entries: readonly HistoryEntry[]
}

/** Groups entries by day and keeps their order. */
export function byDay(entries: readonly HistoryEntry[]): readonly Day[] {
  const days = new Map<number, HistoryEntry[]>()
  for (const entry of entries) {
    const start = new Date(entry.time).setHours(0, 0, 0, 0)
    const own = days.get(start)
    if (own === undefined) days.set(start, [entry])
    else own.push(entry)
  }
  return [...days].map(([start, own]) => ({ start, entries: own }))
}

export function policyPath({ kind, namespace, name }: Pick<HistoryEntry, "kind" | "namespace" | "name">): string {
  return `${kind}/${namespace}/${name}`
}

/** The paths of policies whose newest entry is not a deletion. The entries are sorted, newest first. */
export function currentPolicies(newest: readonly HistoryEntry[]): ReadonlySet<string> {
  const last = new Map<string, HistoryEntry>()
  for (const entry of newest) if (!last.has(policyPath(entry))) last.set(policyPath(entry), entry)
  return new Set([...last].filter(([, { operation }]) => operation !== "delete").map(([path]) => path))
}
