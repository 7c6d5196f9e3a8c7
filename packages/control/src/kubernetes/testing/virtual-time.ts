// SPDX-License-Identifier: Apache-2.0
// Virtual time, advanced by the test. Timers fire in order, and their effects settle before the next one fires.

import { setImmediate } from "node:timers/promises"
import type { Time } from "../time.js"

export class VirtualTime implements Time {
  #now = 0
  #timers: { readonly at: number; readonly callback: () => void }[] = []

  /** `wallOffset`: difference between the wall clock and the monotonic clock. */
  constructor(readonly wallOffset: number = 0) {}

  now(): number {
    return this.#now + this.wallOffset
  }

  monotonic(): number {
    return this.#now
  }

  after(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.#now + milliseconds, callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(other => other !== timer)
    }
  }

  async advance(milliseconds: number, afterEach: () => void = () => {}): Promise<void> {
    const until = this.#now + milliseconds
    await setImmediate()
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#timers = this.#timers.filter(other => other !== next)
      this.#now = Math.max(this.#now, next.at)
      next.callback()
      await setImmediate()
      afterEach()
    }
    this.#now = until
    afterEach()
  }
}
