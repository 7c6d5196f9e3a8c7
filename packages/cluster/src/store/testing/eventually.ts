// SPDX-License-Identifier: Apache-2.0
// Waits in a test until a condition is true, and fails with what it waited for. Tests do not assert how fast that is.

/** Below the time limit of a test, so that the failure is this one. */
const LIMIT_MS = 100_000
const INTERVAL_MS = 10

/** `what` completes the sentence "timed out waiting until …". */
export async function eventually(
  what: string,
  check: () => boolean | Promise<boolean>,
  limitMs = LIMIT_MS,
): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`timed out after ${limitMs / 1000} s waiting until ${what}`)
    await new Promise(resolve => setTimeout(resolve, INTERVAL_MS))
  }
}
