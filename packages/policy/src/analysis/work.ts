// SPDX-License-Identifier: Apache-2.0
// The work budget of an analysis, and the points where it can be paused. Comparing rules with each other is quadratic,
// and a user can write a very large policy. Checks are generators that yield after bounded steps, so that the caller can
// do other work in between or stop. A check that runs out of budget reports that.

import type { PolicyDocument } from "../resources/document.js"
import { type AnalysisFinding, analysisFinding } from "./finding.js"

/** Comparisons of one value, or of one rule, with another; a few tenths of a second. */
export const DEFAULT_STEPS = 4_000_000
/** Steps between two points where an analysis can be paused: about a millisecond. */
const SLICE = 10_000

export class Work {
  #left: number
  #slice = SLICE

  constructor(steps = DEFAULT_STEPS) {
    this.#left = steps
  }

  /** Spends steps; returns whether the budget suffices. */
  spend(steps: number): boolean {
    this.#left -= steps
    this.#slice -= steps
    return this.#left >= 0
  }

  get exhausted(): boolean {
    return this.#left < 0
  }

  /** Whether enough work was done since the last pause to let other work run. */
  get due(): boolean {
    if (this.#slice > 0) return false
    this.#slice = SLICE
    return true
  }
}

/** A part of the analysis: yields only to pause, and returns its findings. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Runs all steps. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/**
 * Checks one item after the other, at this cost each. Reports the items that remained when the budget was exhausted.
 */
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
  /** The finding that reports where the budget was exhausted. */
  readonly place: (item: T) => AnalysisFinding
  readonly look: (item: T) => readonly AnalysisFinding[]
}

/** Where the check stopped: everything from there on was not checked. */
export function limited(policy: PolicyDocument, at: string): AnalysisFinding {
  const why = "the set is too large to compare everything in it; from here on it was not compared"
  return analysisFinding("analysis-limited", policy, at, why, "analyse one namespace at a time")
}
