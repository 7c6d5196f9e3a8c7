// SPDX-License-Identifier: Apache-2.0
// The work budget of an answer. The worst case of the search is exponential, so there is a third answer besides yes and
// no: work that exceeds its budget ends with `Exhausted`, which callers report as "not decided".

export interface Limits {
  /** Classes and states looked at, over all searches of one question. */
  readonly steps: number
  /** When to give up, by `now`; undefined never does. */
  readonly deadline?: number
  readonly now?: () => number
}

export class Exhausted extends Error {
  override readonly name = "Exhausted"
}

/** A question that a person waits for: far more than what any policy set we know of needs. */
export const DEFAULT_PROOF_LIMITS: Limits = { steps: 20_000_000 }

// Looking at the clock costs as much as some dozen steps.
const CLOCK_EVERY = 1024
// Rules that are made ready between two looks: each takes as long as some dozen steps.
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

  /** For work that an answer does not hang on: as many steps of its own, and until the same time. */
  aside(steps: number): Budget {
    return new Budget({ ...this.#limits, steps })
  }

  /** With each of many pieces of work that spend nothing, as rules that are made ready. */
  look(): void {
    if (--this.#untilLook > 0) return
    this.#untilLook = LOOK_EVERY
    this.checkTime()
  }

  /** Before work that spends nothing and takes a while. */
  checkTime(): void {
    this.#untilClock = CLOCK_EVERY
    const { deadline, now } = this.#limits
    if (deadline !== undefined && now !== undefined && now() > deadline) throw new Exhausted("the time is used up")
  }
}
