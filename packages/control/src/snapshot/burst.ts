// SPDX-License-Identifier: Apache-2.0
// When to act on changes: immediately after a quiet time, and a few milliseconds later while they keep coming, so that
// one action covers a burst and no change waits longer than that.

/** A clock with timers, which tests replace. */
export interface Scheduler {
  /** Monotonic milliseconds. */
  now(): number
  /** Runs once the current work is done. */
  soon(run: () => void): void
  /** Returns a function that cancels it. */
  later(run: () => void, milliseconds: number): () => void
}

export const SYSTEM_SCHEDULER: Scheduler = {
  now: () => performance.now(),
  soon: run => {
    setImmediate(run)
  },
  later: (run, milliseconds) => {
    const timer = setTimeout(run, milliseconds)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

const WINDOW_MS = 5

export class Burst {
  readonly #act: () => void
  readonly #scheduler: Scheduler
  readonly #window: number
  #last = Number.NEGATIVE_INFINITY
  #waiting = false
  #stopped = false

  constructor(act: () => void, scheduler: Scheduler = SYSTEM_SCHEDULER, windowMs = WINDOW_MS) {
    this.#act = act
    this.#scheduler = scheduler
    this.#window = windowMs
  }

  request(): void {
    if (this.#waiting || this.#stopped) return
    this.#waiting = true
    const quiet = this.#scheduler.now() - this.#last
    if (quiet >= this.#window) this.#scheduler.soon(this.#run)
    else this.#scheduler.later(this.#run, this.#window - quiet)
  }

  stop(): void {
    this.#stopped = true
  }

  readonly #run = (): void => {
    if (this.#stopped) return
    this.#waiting = false
    this.#last = this.#scheduler.now()
    this.#act()
  }
}
