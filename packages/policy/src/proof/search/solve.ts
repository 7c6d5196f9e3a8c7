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
import type { RefutationLog } from "./refutation-log.js"
import { type Simplified, simplified } from "./simplify.js"

/** Values for the dimensions that matter; the others may have any value. */
export type Assignment = ReadonlyMap<Dimension, Value>

/**
 * Undefined if no request solves the problem; the log then contains the proof. Throws `Exhausted` if the budget is too
 * small to decide.
 */
export function solve(
  problem: Problem,
  budget: Budget,
  memo = new ClassMemo(),
  log?: RefutationLog,
): Assignment | undefined {
  const simple = simplified(problem, condition => memo.isTotal(condition, budget), log)
  budget.spend(1 + problem.needs.length)
  return simple === undefined ? undefined : new Search(simple, budget, memo, log).run()
}

/** A region, as the numbers of its parts. */
interface Numbered {
  readonly region: Region
  readonly groups: readonly (readonly number[])[]
}

/** `#visit` returns this if it found a solution, and otherwise the number of the proof that there is none. */
const SOLVED = -1

class Search {
  readonly #parts: Part[] = []
  readonly #needs: readonly (readonly Numbered[])[]
  readonly #bans: readonly Numbered[]
  readonly #budget: Budget
  readonly #memo: ClassMemo
  readonly #log: RefutationLog | undefined
  readonly #origins: readonly number[]
  readonly #assigned = new Map<Dimension, Value>()
  readonly #hopeless = new Map<string, number>()

  constructor({ needs, bans, origins }: Simplified, budget: Budget, memo: ClassMemo, log: RefutationLog | undefined) {
    this.#budget = budget
    this.#memo = memo
    this.#log = log
    this.#origins = origins
    this.#needs = needs.map(need => need.map(region => this.#number(region, () => true)))
    // A part that the search does not model bans nothing: see `Part.opaque`.
    this.#bans = bans.map(ban => this.#number(ban, part => !part.opaque))
  }

  run(): Assignment | undefined {
    const end = this.#visit(BitSet.full(this.#parts.length), this.#bans)
    return end === SOLVED ? new Map(this.#assigned) : undefined
  }

  #number(region: Region, counts: (part: Part) => boolean): Numbered {
    const groups = region.groups.map(parts => parts.filter(counts).map(part => this.#parts.push(part) - 1))
    return { region, groups }
  }

  #visit(open: BitSet, bans: readonly Numbered[]): number {
    this.#budget.spend(1 + (bans.length >>> 2))
    for (const [at, need] of this.#needs.entries()) {
      if (!need.some(region => isPossible(region, open))) return this.#log?.need(this.#origins[at] ?? 0) ?? 0
    }
    const possible = bans.filter(ban => isPossible(ban, open))
    const held = possible.find(ban => this.#isCertain(ban, open))
    if (held !== undefined) return this.#log?.ban(held.region) ?? 0
    const [dimension, conditions] = this.#next(open, possible)
    if (dimension === undefined) return SOLVED
    const key = this.#keyOf(open, possible)
    const known = this.#hopeless.get(key)
    if (known !== undefined) return known
    const cases: (readonly [Value, number])[] = []
    for (const { value, matchedAt } of childrenOf(dimension, conditions, this.#memo, this.#budget)) {
      this.#assigned.set(dimension, value)
      const end = this.#visit(survivors(open, conditions, matchedAt), possible)
      if (end === SOLVED) return SOLVED
      if (this.#log !== undefined) cases.push([value, end])
    }
    this.#assigned.delete(dimension)
    const proof = this.#log?.split(dimension, cases, this.#fatal(conditions, possible)) ?? 0
    this.#hopeless.set(key, proof)
    return proof
  }

  /** The bans because of which values were left out. */
  #fatal(conditions: readonly OpenCondition[], bans: readonly Numbered[]): readonly Region[] {
    const fatal = new Set(conditions.filter(one => one.fatal).map(({ part }) => part))
    if (fatal.size === 0) return []
    return bans.filter(({ groups }) => groups.some(parts => parts.some(part => fatal.has(part)))).map(ban => ban.region)
  }

  /** Whether every group has a part that holds without further conditions. */
  #isCertain({ groups }: Numbered, open: BitSet): boolean {
    return groups.every(parts => parts.some(part => open.has(part) && this.#isSettled(part)))
  }

  #isSettled(part: number): boolean {
    for (const { dimension } of this.#parts[part]?.conditions ?? []) if (!this.#assigned.has(dimension)) return false
    return true
  }

  /** The dimension for which needs leave the least choice; otherwise the one with the fewest conditions. */
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

  /** INVARIANT: equal keys have the same solutions: the same parts are open, and the same dimensions are unassigned. */
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

/**
 * Only bans have conditions here, and some value meets none of them: choosing it costs nothing and excludes all of
 * them.
 */
function isAvoidable(dimension: Dimension, conditions: readonly OpenCondition[]): boolean {
  for (const { ofNeed, condition } of conditions) if (ofNeed || condition.negated) return false
  return dimension.unmarked(conditions.flatMap(({ condition }) => condition.marks)) !== undefined
}

function survivors(open: BitSet, conditions: readonly OpenCondition[], matchedAt: ReadonlySet<number>): BitSet {
  const left = open.copy()
  for (const [at, { part, condition }] of conditions.entries()) {
    if (matchedAt.has(at) === condition.negated) left.delete(part)
  }
  return left
}

function isPossible({ groups }: Numbered, open: BitSet): boolean {
  return groups.every(parts => parts.some(part => open.has(part)))
}

function eachPart(regions: readonly Numbered[], visit: (part: number, of: Numbered) => void): void {
  for (const region of regions) for (const parts of region.groups) for (const part of parts) visit(part, region)
}
