// SPDX-License-Identifier: Apache-2.0
// Caches classes by dimension and marks for the searches of one question, which ask for the same few lists again and
// again.

import type { Budget } from "../budget.js"
import type { Dimension, ValueClass } from "../classes/dimension.js"
import type { Mark } from "../classes/mark.js"
import { type Condition, conditionKey } from "./formula.js"

export class ClassMemo {
  readonly #known = new Map<Dimension, Map<string, readonly ValueClass[]>>()
  readonly #byMark = new WeakMap<Mark, number>()
  readonly #byKey = new Map<string, number>()
  readonly #totals = new Map<string, boolean>()

  /** INVARIANT: marks with equal keys have the same number. */
  numberOf(mark: Mark): number {
    let number = this.#byMark.get(mark)
    if (number === undefined) {
      number = this.#byKey.get(mark.key) ?? this.#byKey.size
      this.#byKey.set(mark.key, number)
      this.#byMark.set(mark, number)
    }
    return number
  }

  /** `marks` must be sorted by their numbers. */
  classes(dimension: Dimension, marks: readonly Mark[], budget: Budget): readonly ValueClass[] {
    let known = this.#known.get(dimension)
    if (known === undefined) {
      known = new Map()
      this.#known.set(dimension, known)
    }
    const key = marks.map(mark => this.numberOf(mark)).join()
    let classes = known.get(key)
    if (classes === undefined) {
      classes = dimension.classes(marks, budget)
      known.set(key, classes)
    }
    return classes
  }

  /** Whether every possible value meets the condition. */
  isTotal(condition: Condition, budget: Budget): boolean {
    const { dimension, negated, marks } = condition
    if (negated || dimension.several) return false
    const key = conditionKey(condition)
    let total = this.#totals.get(key)
    if (total === undefined) {
      const sorted = [...marks].sort((a, b) => this.numberOf(a) - this.numberOf(b))
      total = this.classes(dimension, sorted, budget).every(({ matched }) => matched.length > 0)
      this.#totals.set(key, total)
    }
    return total
  }
}
