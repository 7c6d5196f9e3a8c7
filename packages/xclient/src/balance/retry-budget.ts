// SPDX-License-Identifier: Apache-2.0
// How many requests of a host may be retried: a fifth of those of the last ten seconds, plus a few. Without it, a
// failing host would get several times its load.

const SHARE = 0.2
const SLOT_MS = 1_000
const SLOTS = 10
/** Allowed in the window regardless of the number of requests. */
const ALWAYS = 30

export class RetryBudget {
  readonly #now: () => number
  readonly #requests = new Array<number>(SLOTS).fill(0)
  readonly #retries = new Array<number>(SLOTS).fill(0)
  #slot: number
  #requestSum = 0
  #retrySum = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#slot = Math.floor(now() / SLOT_MS)
  }

  /** Counts a request that is sent for the first time. */
  deposit(): void {
    const place = this.#advance()
    this.#requests[place] = (this.#requests[place] ?? 0) + 1
    this.#requestSum += 1
  }

  /** False if a request must not be sent again. */
  withdraw(): boolean {
    const place = this.#advance()
    if (this.#retrySum >= ALWAYS + SHARE * this.#requestSum) return false
    this.#retries[place] = (this.#retries[place] ?? 0) + 1
    this.#retrySum += 1
    return true
  }

  /** Drops the slots that are older than the window, and returns the index of the current one. */
  #advance(): number {
    const slot = Math.floor(this.#now() / SLOT_MS)
    for (let passed = Math.min(slot - this.#slot, SLOTS); passed > 0; passed--) {
      const place = (slot - passed + 1) % SLOTS
      this.#requestSum -= this.#requests[place] ?? 0
      this.#retrySum -= this.#retries[place] ?? 0
      this.#requests[place] = 0
      this.#retries[place] = 0
    }
    this.#slot = Math.max(this.#slot, slot)
    return this.#slot % SLOTS
  }
}
