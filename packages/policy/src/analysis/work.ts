// SPDX-License-Identifier: Apache-2.0
// The work budget of an analysis, and the points where it can be paused. Comparing rules with each other is quadratic,
// and a user can write a very large policy. Checks are generators that yield after bounded steps, so that the caller can
// do other work in between or stop. A check that runs out of budget reports that.

import type { PolicyDocument } from "../resources/document.js"
import { type AnalysisFinding, analysisFinding } from "./finding.js"

/** Comparisons of one value, or of one rule, with another; some tenths of a second. */
export const DEFAULT_STEPS = 4_000_000
/** Steps between two places where an analysis can be put aside: about a millisecond. */
const SLICE = 10_000

export class Work {
  #left: number
  #slice = SLICE

  constructor(steps = DEFAULT_STEPS) {
    this.#left = steps
  }

  /** Whether there is still that much to spend. */
  spend(steps: number): boolean {
    this.#left -= steps
    this.#slice -= steps
    return this.#left >= 0
  }

  get exhausted(): boolean {
    return this.#left < 0
  }

  /** Whether enough was done since the last time to let others have a turn. */
  get due(): boolean {
    if (this.#slice > 0) return false
    this.#slice = SLICE
    return true
  }
}

/** A part of the analysis: yields nothing but turns, and returns what it found. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Runs it through. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Looks at one item after the other, at this cost each. What was not looked at when the work ran out is said. */
export function* each<T>(
  items: readonly T[],
  work: Work,
  { cost, place, look }: Looking<T>,
): Steps<readonly AnalysisFinding[]> {
  const found: AnalysisFinding[] = []
  for (const item of items) {
    if (!work.spend(cost(item))) return [...found, place(item)]
    if (work.due) yield
    found.push(...look(item))
  }
  return found
}

interface Looking<T> {
  readonly cost: (item: T) => number
  /** How the place is told at which the work ran out. */
  readonly place: (item: T) => AnalysisFinding
  readonly look: (item: T) => readonly AnalysisFinding[]
}

/** Where the check stopped: everything from there on was not looked at. */
export function limited(policy: PolicyDocument, at: string): AnalysisFinding {
  const why = "the set is too large to compare everything in it; from here on it was not compared"
  return analysisFinding("analysis-limited", policy, at, why, "analyse one namespace at a time")
}
