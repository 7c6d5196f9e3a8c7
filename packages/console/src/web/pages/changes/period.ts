// SPDX-License-Identifier: Apache-2.0
// The period that the Changes page is about, as its address says it: `since=24h`, or two moments. Times are in milliseconds.

export const SPANS = [
  { value: "1h", label: "Last hour", ms: 3_600_000 },
  { value: "24h", label: "Last 24 hours", ms: 86_400_000 },
  { value: "7d", label: "Last 7 days", ms: 7 * 86_400_000 },
  { value: "30d", label: "Last 30 days", ms: 30 * 86_400_000 },
] as const
export const USUAL = "24h"

export interface Period {
  readonly from: number
  /** Now where absent. */
  readonly to?: number
  /** It was asked for from an earlier moment on, of which nothing is known. */
  readonly isCut: boolean
}

/** `begun` is when the history began; nothing can be said of earlier moments. */
export function periodOf(since: string | null, until: string | null, now: number, begun = 0): Period {
  const asked = Date.parse(since ?? "")
  const span = SPANS.find(({ value }) => value === (since ?? USUAL)) ?? SPANS[1]
  const from = Number.isFinite(asked) ? asked : now - span.ms
  const to = Date.parse(until ?? "")
  return { from: Math.max(from, begun), isCut: from < begun, ...(Number.isFinite(to) ? { to } : {}) }
}

export function isSpan(since: string | null): boolean {
  return since === null || SPANS.some(({ value }) => value === since)
}

export function isWithin({ from, to = Number.POSITIVE_INFINITY }: Period, time: string): boolean {
  const at = Date.parse(time)
  return at >= from && at <= to
}

/** As a field for a local date and time takes it, to the second. */
export function localValue(time: number): string {
  const zoned = new Date(time - new Date(time).getTimezoneOffset() * 60_000)
  return zoned.toISOString().slice(0, 19)
}

/** What such a field says, for the address; undefined where it is empty or half written. */
export function addressValue(local: string): string | undefined {
  const time = Date.parse(local)
  return Number.isFinite(time) ? new Date(time).toISOString() : undefined
}
