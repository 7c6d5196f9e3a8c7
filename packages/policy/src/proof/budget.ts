// SPDX-License-Identifier: Apache-2.0
// The work budget of an answer. The worst case of the search is exponential. Work that exceeds its budget throws
// `Exhausted`, which callers report as "not decided" instead of yes or no.

export interface Limits {
  /** Classes and states visited, over all searches of one question. */
  readonly steps: number
  /** When to give up, compared with `now`; without a deadline it never does. */
  readonly deadline?: number
  readonly now?: () => number
}

export class Exhausted extends Error {
  override readonly name = "Exhausted"
}

/** For a question that a person waits for: far more than any policy set we know of needs. */
export const DEFAULT_PROOF_LIMITS: Limits = { steps: 20_000_000 }

// Reading the clock costs as much as a few dozen steps.
const CLOCK_EVERY = 1024
// Rules prepared between two clock checks: each takes as long as a few dozen steps.
const LOOK_EVERY = 32

export class Budget {
  #left: number
  #untilClock = CLOCK_EVERY
  #untilLook = LOOK_EVERY
  readonly #limits: Limits

  constructor(limits: Limits = DEFAULT_PROOF_LIMITS) {
    this.#limits = limits
    this.#left = limits.steps
  }

  spend(steps = 1): void {
    this.#left -= steps
    if (this.#left < 0) throw new Exhausted("the budget of steps is used up")
    this.#untilClock -= steps
    if (this.#untilClock > 0) return
    this.checkTime()
  }

  /** A budget for optional work: its own number of steps, and the same deadline. */
  aside(steps: number): Budget {
    return new Budget({ ...this.#limits, steps })
  }

  /** Call it for each of many items of work that use no steps, such as preparing a rule. */
  look(): void {
    if (--this.#untilLook > 0) return
    this.#untilLook = LOOK_EVERY
    this.checkTime()
  }

  /** Call it before work that uses no steps and takes a while. */
  checkTime(): void {
    this.#untilClock = CLOCK_EVERY
    const { deadline, now } = this.#limits
    if (deadline !== undefined && now !== undefined && now() > deadline)
      throw new Exhausted("the time limit was reached")
  }
}
