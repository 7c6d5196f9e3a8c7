// SPDX-License-Identifier: Apache-2.0
// Finds a request that meets every need and no ban, or proves that there is none. It assigns one dimension after the
// other. The state is the set of parts that can still hold, and a state that failed once is not entered again. It prunes
// a need that nothing can meet any more, a ban that holds in any case, and a ban that cannot hold any more.

import type { Budget } from "../budget.js"
import type { Dimension, Value } from "../classes/dimension.js"
import { BitSet } from "./bit-set.js"
import { childrenOf, type OpenCondition } from "./children.js"
import { ClassMemo } from "./class-memo.js"
import type { Part, Problem, Region } from "./formula.js"
import { simplified } from "./simplify.js"

/** A value for every dimension that matters; any other may have any value. */
export type Assignment = ReadonlyMap<Dimension, Value>

/** Undefined where no request solves the problem. Throws `Exhausted` where the budget does not suffice to know. */
export function solve(problem: Problem, budget: Budget, memo = new ClassMemo()): Assignment | undefined {
  const simple = simplified(problem, condition => memo.isTotal(condition, budget))
  budget.spend(1 + problem.needs.length)
  return simple === undefined ? undefined : new Search(simple, budget, memo).run()
}

/** A region by its parts' numbers. */
interface Numbered {
  readonly groups: readonly (readonly number[])[]
}

class Search {
  readonly #parts: Part[] = []
  readonly #needs: readonly (readonly Numbered[])[]
  readonly #bans: readonly Numbered[]
  readonly #budget: Budget
  readonly #memo: ClassMemo
  readonly #assigned = new Map<Dimension, Value>()
  readonly #hopeless = new Set<string>()

  constructor({ needs, bans }: Problem, budget: Budget, memo: ClassMemo) {
    this.#budget = budget
    this.#memo = memo
    this.#needs = needs.map(need => need.map(region => this.#number(region, () => true)))
    // A part that the search cannot follow bans nothing: see `Part.opaque`.
    this.#bans = bans.map(ban => this.#number(ban, part => !part.opaque))
  }

  run(): Assignment | undefined {
    return this.#visit(BitSet.full(this.#parts.length), this.#bans) ? new Map(this.#assigned) : undefined
  }

  #number({ groups }: Region, counts: (part: Part) => boolean): Numbered {
    return { groups: groups.map(parts => parts.filter(counts).map(part => this.#parts.push(part) - 1)) }
  }

  #visit(open: BitSet, bans: readonly Numbered[]): boolean {
    this.#budget.spend(1 + (bans.length >>> 2))
    for (const need of this.#needs) if (!need.some(region => isPossible(region, open))) return false
    const possible = bans.filter(ban => isPossible(ban, open))
    if (possible.some(ban => this.#isCertain(ban, open))) return false
    const [dimension, conditions] = this.#next(open, possible)
    if (dimension === undefined) return true
    const key = this.#keyOf(open, possible)
    if (this.#hopeless.has(key)) return false
    for (const { value, borne } of childrenOf(dimension, conditions, this.#memo, this.#budget)) {
      this.#assigned.set(dimension, value)
      if (this.#visit(survivors(open, conditions, borne), possible)) return true
    }
    this.#assigned.delete(dimension)
    this.#hopeless.add(key)
    return false
  }

  /** Every group has a part that holds and asks nothing more. */
  #isCertain({ groups }: Numbered, open: BitSet): boolean {
    return groups.every(parts => parts.some(part => open.has(part) && this.#isSettled(part)))
  }

  #isSettled(part: number): boolean {
    for (const { dimension } of this.#parts[part]?.conditions ?? []) if (!this.#assigned.has(dimension)) return false
    return true
  }

  /** The dimension that needs leave the least choice in; of others, the one with the fewest conditions. */
  #next(open: BitSet, bans: readonly Numbered[]): readonly [Dimension | undefined, readonly OpenCondition[]] {
    const byDimension = new Map<Dimension, OpenCondition[]>()
    const collect = (part: number, ofNeed: boolean, alone: boolean): void => {
      if (!open.has(part)) return
      const unsettled = (this.#parts[part]?.conditions ?? []).filter(one => !this.#assigned.has(one.dimension))
      const fatal = alone && unsettled.length === 1
      for (const condition of unsettled) {
        const list = byDimension.get(condition.dimension)
        if (list === undefined) byDimension.set(condition.dimension, [{ part, condition, ofNeed, fatal }])
        else list.push({ part, condition, ofNeed, fatal })
      }
    }
    for (const need of this.#needs) eachPart(need, part => collect(part, true, false))
    eachPart(bans, (part, { groups }) => collect(part, false, groups.length === 1))
    let best: Dimension | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [dimension, conditions] of byDimension) {
      const cost = this.#costOf(dimension, conditions)
      if (cost >= least) continue
      least = cost
      best = dimension
    }
    return [best, (best && byDimension.get(best)) ?? []]
  }

  #costOf(dimension: Dimension, conditions: readonly OpenCondition[]): number {
    if (isAvoidable(dimension, conditions)) return 0
    const narrowed = conditions.some(({ ofNeed, condition }) => ofNeed && !condition.negated)
    return 1 + conditions.length + (narrowed ? 0 : 1_000_000) + (dimension.several ? 1_000 : 0)
  }

  /** INVARIANT: equal keys have the same solutions: the same parts are open, and the same dimensions are unsettled. */
  #keyOf(open: BitSet, bans: readonly Numbered[]): string {
    const relevant: number[] = []
    for (const need of this.#needs) eachPart(need, part => open.has(part) && relevant.push(part))
    eachPart(bans, part => open.has(part) && relevant.push(part))
    const unsettled = relevant.map(part => `${part}${this.#isSettled(part) ? "." : this.#openDimensions(part)}`)
    return unsettled.join()
  }

  #openDimensions(part: number): string {
    const conditions = this.#parts[part]?.conditions ?? []
    return conditions.map(({ dimension }) => (this.#assigned.has(dimension) ? "-" : "+")).join("")
  }
}

/** Only bans ask, and there is a value that none of them asks for: taking it costs nothing and ends them all. */
function isAvoidable(dimension: Dimension, conditions: readonly OpenCondition[]): boolean {
  for (const { ofNeed, condition } of conditions) if (ofNeed || condition.negated) return false
  return dimension.unmarked(conditions.flatMap(({ condition }) => condition.marks)) !== undefined
}

function survivors(open: BitSet, conditions: readonly OpenCondition[], borne: ReadonlySet<number>): BitSet {
  const left = open.copy()
  for (const [at, { part, condition }] of conditions.entries()) {
    if (borne.has(at) === condition.negated) left.delete(part)
  }
  return left
}

function isPossible({ groups }: Numbered, open: BitSet): boolean {
  return groups.every(parts => parts.some(part => open.has(part)))
}

function eachPart(regions: readonly Numbered[], visit: (part: number, of: Numbered) => void): void {
  for (const region of regions) for (const parts of region.groups) for (const part of parts) visit(part, region)
}
