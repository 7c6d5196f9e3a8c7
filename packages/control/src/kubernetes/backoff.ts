// SPDX-License-Identifier: Apache-2.0
// How long to wait after the n-th failure in a row: doubling up to a limit, spread so that many who failed together do not
// come back together.

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
