// SPDX-License-Identifier: Apache-2.0
// The last hour as one stacked bar per minute: denied requests on top of allowed ones.

import type { TrafficMinute } from "../../api/answers.js"

export const MINUTES = 60
const MINUTE_SECONDS = 60
/** The least height as a share of the highest bar, so that one denied request among a million is still visible. */
const LEAST = 1 / 40

export interface Stacks {
  /** The start of each minute, in seconds since 1970. */
  readonly times: number[]
  /** The heights of the allowed part and of the whole bar. */
  readonly allowed: number[]
  readonly all: number[]
}

export function stacksOf(minutes: readonly TrafficMinute[]): Stacks {
  const most = Math.max(1, ...minutes.map(({ allowed, denied }) => allowed + denied))
  const height = (value: number): number => (value === 0 ? 0 : Math.max(value, most * LEAST))
  return {
    times: minutes.map(({ time }) => Math.floor(Date.parse(time) / 1_000)),
    allowed: minutes.map(({ allowed }) => height(allowed)),
    all: minutes.map(({ allowed, denied }) => height(allowed) + height(denied)),
  }
}

/** Start and end of the hour that ends with the last minute, in seconds since 1970. */
export function hourOf({ times }: Stacks): [number, number] {
  const end = (times.at(-1) ?? 0) + MINUTE_SECONDS
  return [end - MINUTES * MINUTE_SECONDS, end]
}

export function sumOf(minutes: readonly TrafficMinute[]): Pick<TrafficMinute, "allowed" | "denied"> {
  return {
    allowed: minutes.reduce((sum, { allowed }) => sum + allowed, 0),
    denied: minutes.reduce((sum, { denied }) => sum + denied, 0),
  }
}
