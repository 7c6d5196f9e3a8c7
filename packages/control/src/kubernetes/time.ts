// SPDX-License-Identifier: Apache-2.0
// The clock of this package's loops, replaceable in tests. Durations use the monotonic clock: the wall clock may jump.

import type { Clock } from "../observe/clock.js"

export type Time = Clock

/** Unlike `systemClock`, what is being waited for here keeps the process alive: a program may have nothing else to do. */
export const SYSTEM_TIME: Time = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
}

/** What the promise brings, or undefined as soon as the signal says so. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => resolve(undefined)
    if (signal.aborted) end()
    signal.addEventListener("abort", end, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", end))
  })
}

/** Resolves after the time, or at once when the signal says so. Never fails. */
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
