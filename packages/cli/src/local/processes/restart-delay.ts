// SPDX-License-Identifier: Apache-2.0
// The delay before a dead process is restarted: longer each time, and short again once it ran for a while.

const FIRST_MS = 500
const LONGEST_MS = 30_000
const HEALTHY_MS = 60_000

export interface EarlyExits {
  /** Consecutive unexpected exits, each soon after the start. */
  readonly count: number
}

export const NO_EARLY_EXITS: EarlyExits = { count: 0 }

export function afterExit(
  { count }: EarlyExits,
  livedMs: number,
): { readonly exits: EarlyExits; readonly delayMs: number } {
  const exits = { count: livedMs >= HEALTHY_MS ? 1 : count + 1 }
  return { exits, delayMs: Math.min(FIRST_MS * 2 ** (exits.count - 1), LONGEST_MS) }
}
