// SPDX-License-Identifier: Apache-2.0
// How often a process is killed: as often as time allows, with a minimum, so that a busy machine runs fewer rounds
// instead of failing.

import { inject } from "vitest"

export interface Rounds {
  readonly most: number
  readonly least: number
  readonly budgetMs: number
}

export const KILLS: Rounds = { most: 50, least: 6, budgetMs: 3_000 * inject("effort") }

/** Far more than the minimum of rounds takes on any machine. */
export const LIMIT_MS = 600_000

/** The numbers of the rounds to run. */
export function* roundsOf({ most, least, budgetMs }: Rounds): Generator<number> {
  const end = Date.now() + budgetMs
  for (let round = 0; round < most && (round < least || Date.now() < end); round++) yield round
}
