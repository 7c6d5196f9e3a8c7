// SPDX-License-Identifier: Apache-2.0
// Exponential backoff with a limit and jitter, so that clients that failed together do not retry together.

export interface BackoffOptions {
  readonly firstMs: number
  readonly limitMs: number
  readonly random: () => number
}

export class Backoff {
  readonly #options: BackoffOptions
  #failures = 0

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  reset(): void {
    this.#failures = 0
  }

  next(): number {
    const { firstMs, limitMs, random } = this.#options
    const full = Math.min(firstMs * 2 ** this.#failures, limitMs)
    this.#failures = Math.min(this.#failures + 1, 30)
    return full * (0.5 + random() / 2)
  }
}
