// SPDX-License-Identifier: Apache-2.0
// Polls until a condition is true.

import { setTimeout as sleep } from "node:timers/promises"
import { CommandError } from "../ctl/exit.js"

const LOOK_EVERY_MS = 50

export interface Patience {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** The condition, for the error after a timeout. */
  readonly what: string
}

/** `look` returns true, or the reason why the condition is not yet met. */
export async function until(look: () => Promise<true | string>, { timeoutMs, signal, what }: Patience): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen === true) return
    signal.throwIfAborted()
    if (Date.now() > deadline) {
      throw new CommandError("not-ready", `${what} within ${Math.round(timeoutMs / 1000)} s: ${seen}`)
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
}
