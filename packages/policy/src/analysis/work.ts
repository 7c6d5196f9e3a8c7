// SPDX-License-Identifier: Apache-2.0
// How much one check may do. Comparing rules with each other is quadratic, and whoever may write a policy may write a
// large one; a check that runs out says so instead of keeping people waiting.

import type { PolicyDocument } from "../resources/document.js"
import { type AnalysisFinding, analysisFinding } from "./finding.js"

/** Comparisons of one value, or of one rule, with another: a second or two. */
const STEPS = 4_000_000

export class Work {
  #left: number

  constructor(steps = STEPS) {
    this.#left = steps
  }

  /** Whether there is still that much to spend. */
  spend(steps: number): boolean {
    this.#left -= steps
    return this.#left >= 0
  }

  get exhausted(): boolean {
    return this.#left < 0
  }
}

/** Where the check stopped: everything from there on was not looked at. */
export function limited(policy: PolicyDocument, at: string): AnalysisFinding {
  const why = "the set is too large to compare everything in it; from here on it was not compared"
  return analysisFinding("analysis-limited", policy, at, why, "analyse one namespace at a time")
}
