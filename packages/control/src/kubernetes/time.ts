// SPDX-License-Identifier: Apache-2.0
// The clock of this package's loops, replaceable in tests. Durations use the monotonic clock, because the wall clock
// may jump.

import type { Clock } from "../observe/clock.js"

export type Time = Clock

/** Unlike `systemClock`, its timers keep the process alive: a program may have nothing else to do. */
export const SYSTEM_TIME: Time = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
}

/** The result of the promise, or undefined as soon as the signal aborts. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => resolve(undefined)
    if (signal.aborted) end()
    signal.addEventListener("abort", end, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", end))
  })
}

/** Resolves after the time, or as soon as the signal aborts. Never rejects. */
export function pause(time: Time, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted === true) return resolve()
    const end = (): void => {
      cancel()
      signal?.removeEventListener("abort", end)
      resolve()
    }
    const cancel = time.after(milliseconds, end)
    signal?.addEventListener("abort", end, { once: true })
  })
}
