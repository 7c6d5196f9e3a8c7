// SPDX-License-Identifier: Apache-2.0
// A timeout that counts only the time in which this process ran. A process that was suspended, or starved of CPU, must
// not blame its peers for the delay: their responses may have arrived and wait to be read.

const STEPS = 10
const MONOTONIC = (): number => performance.now()

/** Returns a function that cancels it. Does not keep the process alive. */
export function suspendAwareTimeout(milliseconds: number, then: () => void, now = MONOTONIC): () => void {
  const step = milliseconds / STEPS
  let steps = 0
  let due = 0
  let timer: NodeJS.Timeout
  const wait = (): void => {
    due = now() + step
    timer = setTimeout(() => {
      if (now() - due < step) steps++
      if (steps < STEPS) wait()
      else then()
    }, step).unref()
  }
  wait()
  return () => clearTimeout(timer)
}
