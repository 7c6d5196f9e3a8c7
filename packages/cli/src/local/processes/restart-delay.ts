// SPDX-License-Identifier: Apache-2.0
// The delay before a dead process is restarted: longer each time, and short again once it ran for a while.

const FIRST_MS = 500
const LONGEST_MS = 30_000
const HEALTHY_MS = 60_000

export interface Deaths {
  /** Consecutive deaths, each soon after the start. */
  readonly count: number
}

export const NO_DEATHS: Deaths = { count: 0 }

export function afterDeath({ count }: Deaths, livedMs: number): { readonly deaths: Deaths; readonly delayMs: number } {
  const deaths = { count: livedMs >= HEALTHY_MS ? 1 : count + 1 }
  return { deaths, delayMs: Math.min(FIRST_MS * 2 ** (deaths.count - 1), LONGEST_MS) }
}
