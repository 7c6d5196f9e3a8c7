// SPDX-License-Identifier: Apache-2.0
// A limit in time that this process has lived through. Whoever was held up itself, stopped with its machine or short of
// processors, must not call others late: their answers may lie there unread.

const STEPS = 10
const MONOTONIC = (): number => performance.now()

/** Returns how to call it off. Keeps no process alive. */
export function afterLiving(milliseconds: number, then: () => void, now = MONOTONIC): () => void {
  const step = milliseconds / STEPS
  let lived = 0
  let due = 0
  let timer: NodeJS.Timeout
  const wait = (): void => {
    due = now() + step
    timer = setTimeout(() => {
      if (now() - due < step) lived++
      if (lived < STEPS) wait()
      else then()
    }, step).unref()
  }
  wait()
  return () => clearTimeout(timer)
}
