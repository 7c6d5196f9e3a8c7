// SPDX-License-Identifier: Apache-2.0
// Reads copies of the cluster again for callers that must not act on an outdated copy: one read for all requests before
// it begins, and a pause between two reads, so that clients cannot keep the API server busy.

import { type Scheduler, SYSTEM_SCHEDULER } from "../snapshot/burst.js"

const PAUSE_MS = 1_000

export class FreshRead {
  readonly #read: () => Promise<void>
  readonly #scheduler: Scheduler
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  #last = Number.NEGATIVE_INFINITY

  constructor(read: () => Promise<void>, scheduler: Scheduler = SYSTEM_SCHEDULER) {
    this.#read = read
    this.#scheduler = scheduler
  }

  /** Resolves after a read that began after this call. */
  request(): Promise<void> {
    this.#next ??= this.#running
      .then(() => this.#pause())
      .then(() => {
        this.#next = undefined
        this.#last = this.#scheduler.now()
        this.#running = this.#read()
        return this.#running
      })
    return this.#next
  }

  async #pause(): Promise<void> {
    const rest = this.#last + PAUSE_MS - this.#scheduler.now()
    if (rest > 0) await new Promise<void>(resolve => this.#scheduler.later(resolve, rest))
  }
}
