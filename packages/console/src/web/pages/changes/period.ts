// SPDX-License-Identifier: Apache-2.0
// The period of the Changes page, from its address: `since=24h`, or a start and an end. Times are in milliseconds.

export const SPANS = [
  { value: "1h", label: "Last hour", ms: 3_600_000 },
  { value: "24h", label: "Last 24 hours", ms: 86_400_000 },
  { value: "7d", label: "Last 7 days", ms: 7 * 86_400_000 },
  { value: "30d", label: "Last 30 days", ms: 30 * 86_400_000 },
] as const
export const USUAL = "24h"

export interface Period {
  readonly from: number
  /** The end; undefined for a period until now. */
  readonly to?: number
  /** Whether the requested period begins before the history does. */
  readonly isCut: boolean
}

/** `begun` is the start of the history; nothing is known about earlier times. */
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

/** The value for a `datetime-local` field, to the second. */
export function localValue(time: number): string {
  const zoned = new Date(time - new Date(time).getTimezoneOffset() * 60_000)
  return zoned.toISOString().slice(0, 19)
}

/** The time in such a field, for the address; undefined if the field is empty or incomplete. */
export function addressValue(local: string): string | undefined {
  const time = Date.parse(local)
  return Number.isFinite(time) ? new Date(time).toISOString() : undefined
}
