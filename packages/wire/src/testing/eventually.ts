// SPDX-License-Identifier: Apache-2.0
// Waits in tests. Each has its own limit, and its failure says what it waited for and what it found. Tests do not assert
// how fast something becomes true.

import { setTimeout as sleep } from "node:timers/promises"

/** Below the time limit of a test, so that the failure is this one. */
const LIMIT_MS = 100_000
const LONGEST_PAUSE_MS = 20

export interface Wait {
  /** Completes the sentence "timed out waiting until …"; the source of the check where left out. */
  readonly what?: string
  /** What there is instead, for the failure. */
  readonly state?: () => string
  /** Resolves when it is worth checking again; rejects once the signal is aborted. A growing pause where left out. */
  readonly change?: (signal: AbortSignal) => Promise<unknown>
  readonly limitMs?: number
}

export async function eventually(holds: () => boolean | Promise<boolean>, wait: Wait = {}): Promise<void> {
  const { what = sourceOf(holds), state, change = growingPause(), limitMs = LIMIT_MS } = wait
  const signal = AbortSignal.timeout(limitMs)
  try {
    for (;;) {
      // An answer that is there is not awaited: no event can come between the check and the wait for one.
      const answer = holds()
      if (answer === true || (answer !== false && (await answer))) return
      await change(signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
    const instead = state === undefined ? "" : `; there is ${state()}`
    throw new Error(`timed out after ${limitMs / 1000} s waiting until ${what}${instead}`)
  }
}

/** The body of an arrow function, on one line. */
export function sourceOf(check: (...args: never[]) => unknown): string {
  return check
    .toString()
    .replace(/^.*?=>\s*/s, "")
    .replace(/\s+/g, " ")
}

/** Short at first, for what is about to happen; longer later, so that a wait leaves the processors to what it waits for. */
function growingPause(): (signal: AbortSignal) => Promise<void> {
  let pauseMs = 1
  return signal => {
    pauseMs = Math.min(pauseMs * 1.2, LONGEST_PAUSE_MS)
    return sleep(pauseMs, undefined, { signal })
  }
}
