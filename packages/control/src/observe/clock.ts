// SPDX-License-Identifier: Apache-2.0
// The clock as an argument. Intervals use a monotonic clock, so that setting the wall clock neither triggers nor delays
// anything; the wall clock is for timestamps that people read.

import { performance } from "node:perf_hooks"

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds since an arbitrary moment; never goes back. */
  monotonic(): number
  /** Calls back once after this many milliseconds, unless the returned function is called before. */
  after(milliseconds: number, callback: () => void): () => void
}

// A longer delay would make `setTimeout` fire at once.
const LONGEST = 2_147_483_647

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, milliseconds), LONGEST))
    // A pending timer does not keep a process alive that has nothing else to do.
    timer.unref()
    return () => clearTimeout(timer)
  },
}
