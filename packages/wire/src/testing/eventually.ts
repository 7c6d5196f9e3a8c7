// SPDX-License-Identifier: Apache-2.0
// Waits for conditions in tests. Each wait has its own limit, and its failure names the condition and the actual state.
// Tests do not assert how fast something becomes true.

import { setTimeout as sleep } from "node:timers/promises"

/** Shorter than a test's timeout, so that this failure is the one that is reported. */
const LIMIT_MS = 100_000
const LONGEST_PAUSE_MS = 20

export interface Wait {
  /** Completes the sentence "timed out waiting until …"; default: the source of the check. */
  readonly what?: string
  /** The actual state, for the failure message. */
  readonly state?: () => string
  /** Resolves when it is worth checking again; rejects once the signal is aborted. Default: a growing pause. */
  readonly change?: (signal: AbortSignal) => Promise<unknown>
  readonly limitMs?: number
}

export async function eventually(holds: () => boolean | Promise<boolean>, wait: Wait = {}): Promise<void> {
  const { what = sourceOf(holds), state, change = growingPause(), limitMs = LIMIT_MS } = wait
  const signal = AbortSignal.timeout(limitMs)
  try {
    for (;;) {
      // A synchronous result is not awaited, so no event can come between the check and the wait for one.
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

/**
 * Short at first, for conditions that are about to hold. Longer later, so that waiting leaves the CPU to what it waits
 * for.
 */
function growingPause(): (signal: AbortSignal) => Promise<void> {
  let pauseMs = 1
  return signal => {
    pauseMs = Math.min(pauseMs * 1.2, LONGEST_PAUSE_MS)
    return sleep(pauseMs, undefined, { signal })
  }
}
