// SPDX-License-Identifier: Apache-2.0
// The distinct ways to assign a dimension, as far as the open parts distinguish them. Only values that a need requires
// or that avoid a ban are tried: no other value helps.

import { type Budget, Exhausted } from "../budget.js"
import type { Dimension, Value, ValueClass } from "../classes/dimension.js"
import type { Mark } from "../classes/mark.js"
import type { ClassMemo } from "./class-memo.js"
import type { Condition } from "./formula.js"

/** A condition of one open part on the dimension. */
export interface OpenCondition {
  readonly part: number
  readonly condition: Condition
  readonly ofNeed: boolean
  /** The ban holds unless this condition fails. */
  readonly fatal: boolean
}

export interface Child {
  readonly value: Value
  /** Positions of the conditions with a mark that the value matches: positive ones hold, negated ones fail. */
  readonly matchedAt: ReadonlySet<number>
  /** Higher if the value excludes more bans and fails fewer needs. */
  readonly promise: number
}

const MAX_COMBINATIONS = 1 << 14
const NEED = 1_000

/** The most promising first, without those for which a ban is certain to hold. */
export function childrenOf(
  dimension: Dimension,
  open: readonly OpenCondition[],
  memo: ClassMemo,
  budget: Budget,
): readonly Child[] {
  const { marks, naming } = collected(open, memo)
  // If only bans have conditions, and all of them positive, a value that matches none of them is best.
  if (open.every(({ ofNeed, condition }) => !ofNeed && !condition.negated)) {
    budget.spend(1 + (marks.length >>> 4))
    const unmarked = dimension.unmarked(marks)
    if (unmarked !== undefined) return [{ value: unmarked.value, matchedAt: new Set(), promise: 0 }]
  }
  const excluded = excludedMarks(open, naming)
  const all = memo.classes(dimension, marks, budget)
  const classes = all.filter(({ matched }) => !matched.some(mark => excluded.has(mark)))
  budget.spend(1 + (all.length >>> 4))
  const required = open.flatMap(({ fatal, condition }, at) => (fatal && condition.negated ? [at] : []))
  const settled = dimension.several ? combinations(classes, useful(open, naming), budget) : classes
  const children = new Map<string, Child>()
  for (const { matched, value } of settled) {
    const matchedAt = new Set<number>()
    let promise = 0
    for (const mark of matched) {
      for (const at of naming[mark] ?? []) {
        if (matchedAt.has(at)) continue
        matchedAt.add(at)
        promise += weight(open[at])
      }
    }
    budget.spend(1 + matchedAt.size)
    if (!required.every(at => matchedAt.has(at))) continue
    const key = [...matchedAt].sort((a, b) => a - b).join()
    if (!children.has(key)) children.set(key, { value, matchedAt, promise })
  }
  return [...children.values()].sort((a, b) => b.promise - a.promise)
}

/** Marks that no solution matches, because nothing else would prevent a ban. */
function excludedMarks(open: readonly OpenCondition[], naming: readonly (readonly number[])[]): ReadonlySet<number> {
  const excluded = new Set<number>()
  for (const [mark, positions] of naming.entries()) {
    const kills = positions.some(at => open[at]?.fatal === true && !open[at].condition.negated)
    if (kills) excluded.add(mark)
  }
  return excluded
}

interface Collected {
  readonly marks: readonly Mark[]
  /** By mark: the conditions that name it. */
  readonly naming: readonly (readonly number[])[]
}

/** In the order of their numbers, so that the same marks give the same list for every caller. */
function collected(open: readonly OpenCondition[], memo: ClassMemo): Collected {
  const byNumber = new Map<number, { readonly mark: Mark; readonly naming: number[] }>()
  for (const [at, { condition }] of open.entries()) {
    for (const mark of condition.marks) {
      const number = memo.numberOf(mark)
      const known = byNumber.get(number)
      if (known === undefined) byNumber.set(number, { mark, naming: [at] })
      else known.naming.push(at)
    }
  }
  const sorted = [...byNumber].sort(([a], [b]) => a - b)
  return { marks: sorted.map(([, { mark }]) => mark), naming: sorted.map(([, { naming }]) => naming) }
}

/** The benefit of a value that matches a mark of this condition. */
function weight(open: OpenCondition | undefined): number {
  if (open === undefined) return 0
  const helps = open.ofNeed ? NEED : -1
  return open.condition.negated ? -helps : helps
}

/** Marks that a need requires, or that prevent a ban. */
function useful(open: readonly OpenCondition[], naming: readonly (readonly number[])[]): ReadonlySet<number> {
  const wanted = new Set<number>()
  for (const [mark, positions] of naming.entries()) {
    const wants = positions.some(at => open[at] !== undefined && open[at].ofNeed !== open[at].condition.negated)
    if (wants) wanted.add(mark)
  }
  return wanted
}

/** Every union of classes with a wanted mark, the empty one first. */
function combinations(
  classes: readonly ValueClass[],
  wanted: ReadonlySet<number>,
  budget: Budget,
): readonly ValueClass[] {
  const unions = new Map<string, { readonly matched: readonly number[]; readonly value: readonly string[] }>()
  unions.set("", { matched: [], value: [] })
  for (const { matched, value } of classes) {
    if (!matched.some(mark => wanted.has(mark))) continue
    for (const union of [...unions.values()]) {
      budget.spend()
      const together = [...new Set([...union.matched, ...matched])].sort((a, b) => a - b)
      const key = together.join()
      if (unions.has(key)) continue
      // Reports "not decided" long before memory runs out.
      if (unions.size >= MAX_COMBINATIONS) throw new Exhausted("there are too many combinations of values")
      unions.set(key, { matched: together, value: [...union.value, typeof value === "string" ? value : ""] })
    }
  }
  return [...unions.values()]
}
