// SPDX-License-Identifier: Apache-2.0
// A clock that the test advances. The wall clock can be set independently, as administrators and NTP do.

import type { Clock } from "../clock.js"

interface Timer {
  readonly due: number
  readonly callback: () => void
}

export class ManualClock implements Clock {
  #elapsed = 0
  #wall: number
  readonly #timers = new Set<Timer>()

  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.#wall = wall
  }

  now(): number {
    return this.#wall
  }

  monotonic(): number {
    return this.#elapsed
  }

  after(milliseconds: number, callback: () => void): () => void {
    const timer = { due: this.#elapsed + milliseconds, callback }
    this.#timers.add(timer)
    return () => {
      this.#timers.delete(timer)
    }
  }

  /** When the next timer is due, in milliseconds from now. */
  get next(): number | undefined {
    const due = [...this.#timers].map(timer => timer.due)
    return due.length === 0 ? undefined : Math.min(...due) - this.#elapsed
  }

  get pending(): number {
    return this.#timers.size
  }

  setWall(wall: number): void {
    this.#wall = wall
  }

  /** Advances time. Fires timers in the order in which they are due, and lets the work run that they start. */
  async advance(milliseconds: number): Promise<void> {
    // Earlier work may still be about to set a timer.
    await settle()
    const end = this.#elapsed + milliseconds
    for (;;) {
      const due = [...this.#timers].filter(timer => timer.due <= end).sort((a, b) => a.due - b.due)[0]
      if (due === undefined) break
      this.#pass(Math.max(0, due.due - this.#elapsed))
      this.#timers.delete(due)
      due.callback()
      await settle()
    }
    this.#pass(end - this.#elapsed)
    await settle()
  }

  #pass(milliseconds: number): void {
    this.#elapsed += milliseconds
    this.#wall += milliseconds
  }
}

/** Waits until promises that depend only on each other are resolved. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
}
