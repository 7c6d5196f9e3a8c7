// SPDX-License-Identifier: Apache-2.0
// Queries that are retried until they succeed, with growing intervals.

import type { Clock } from "./clock.js"

const FIRST_RETRY = 200
const LAST_RETRY = 10_000

export class RetryingQuery {
  readonly #clock: Clock
  readonly #retries = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `question` returns undefined if the answer is not needed any more. */
  ask<T>(
    question: () => Promise<T> | undefined,
    answered: (answer: T) => void,
    failed: (error: unknown) => void,
    pause = FIRST_RETRY,
  ): void {
    question()?.then(answered, (error: unknown) => {
      failed(error)
      const cancel = this.#clock.after(pause, () => {
        this.#retries.delete(cancel)
        this.ask(question, answered, failed, Math.min(pause * 2, LAST_RETRY))
      })
      this.#retries.add(cancel)
    })
  }

  stop(): void {
    for (const cancel of this.#retries) cancel()
    this.#retries.clear()
  }
}
