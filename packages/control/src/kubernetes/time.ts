// SPDX-License-Identifier: Apache-2.0
// Time as the loops of this package see it, so that tests can hold and turn it. Durations are measured on the monotonic
// clock: the wall clock may jump.

export interface Time {
  /** Milliseconds since the epoch; for what others will read. */
  now(): number
  /** Milliseconds since some fixed moment; never goes back. */
  monotonic(): number
  /** Calls back once. Returns how to call it off. */
  after(milliseconds: number, callback: () => void): () => void
}

export const SYSTEM_TIME: Time = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds)
    return () => clearTimeout(timer)
  },
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
