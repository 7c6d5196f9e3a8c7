// SPDX-License-Identifier: Apache-2.0
// The ways a dimension can be settled, as far as the parts that are still open tell them apart. Of several values only
// those are worth having that a need asks for or that a ban cannot bear: any other helps no need and harms no ban.

import type { Budget } from "../budget.js"
import { Exhausted } from "../budget.js"
import type { Dimension, Value, ValueClass } from "../classes/dimension.js"
import type { Mark } from "../classes/mark.js"
import type { Condition } from "./formula.js"

/** A condition on the dimension, of one open part. */
export interface OpenCondition {
  readonly part: number
  readonly condition: Condition
  readonly ofNeed: boolean
}

export interface Child {
  readonly value: Value
  /** Parts whose condition fails. */
  readonly failed: ReadonlySet<number>
}

const MAX_COMBINATIONS = 1 << 14

export function childrenOf(
  dimension: Dimension,
  open: readonly OpenCondition[],
  memo: ClassMemo,
  budget: Budget,
): readonly Child[] {
  const index = new Map<string, number>()
  const marks: Mark[] = []
  for (const { condition } of open) {
    for (const mark of condition.marks) {
      if (index.has(mark.key)) continue
      index.set(mark.key, marks.length)
      marks.push(mark)
    }
  }
  const classes = memo.classes(dimension, marks, budget)
  const settled = dimension.several ? combinations(classes, open, index, budget) : classes
  const children = new Map<string, Child>()
  for (const { matched, value } of settled) {
    budget.spend(open.length)
    const borne = new Set(matched)
    const failed = new Set<number>()
    for (const { part, condition } of open) if (!holds(condition, borne, index)) failed.add(part)
    const key = [...failed].join()
    if (!children.has(key)) children.set(key, { value, failed })
  }
  return [...children.values()]
}

function holds({ negated, marks }: Condition, borne: ReadonlySet<number>, index: ReadonlyMap<string, number>): boolean {
  for (const { key } of marks) if (borne.has(index.get(key) ?? -1)) return !negated
  return negated
}

/** Every union of useful classes, the empty one first. */
function combinations(
  classes: readonly ValueClass[],
  open: readonly OpenCondition[],
  index: ReadonlyMap<string, number>,
  budget: Budget,
): readonly ValueClass[] {
  const wanted = new Set<number>()
  for (const { condition, ofNeed } of open) {
    if (ofNeed === condition.negated) continue
    for (const { key } of condition.marks) wanted.add(index.get(key) ?? -1)
  }
  const useful = classes.filter(({ matched }) => matched.some(mark => wanted.has(mark)))
  const unions = new Map<string, { readonly matched: readonly number[]; readonly value: readonly string[] }>()
  unions.set("", { matched: [], value: [] })
  for (const { matched, value } of useful) {
    for (const union of [...unions.values()]) {
      budget.spend()
      const together = [...new Set([...union.matched, ...matched])].sort((a, b) => a - b)
      const key = together.join()
      if (unions.has(key)) continue
      // Fail to an honest "not decided" long before memory runs out.
      if (unions.size >= MAX_COMBINATIONS) throw new Exhausted(`too many combinations of values`)
      unions.set(key, { matched: together, value: [...union.value, typeof value === "string" ? value : ""] })
    }
  }
  return [...unions.values()]
}

/** Classes by dimension and marks: the same few lists are asked for again and again. */
export class ClassMemo {
  readonly #known = new Map<Dimension, Map<string, readonly ValueClass[]>>()

  classes(dimension: Dimension, marks: readonly Mark[], budget: Budget): readonly ValueClass[] {
    let known = this.#known.get(dimension)
    if (known === undefined) {
      known = new Map()
      this.#known.set(dimension, known)
    }
    const key = marks.map(mark => mark.key).join("\n")
    let classes = known.get(key)
    if (classes === undefined) {
      classes = dimension.classes(marks, budget)
      known.set(key, classes)
    }
    return classes
  }
}
