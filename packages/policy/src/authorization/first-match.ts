// SPDX-License-Identifier: Apache-2.0
// Finds the first of many candidates that holds for a request without trying them all. A tree stores each candidate
// under the attribute that separates it best; a request follows only the branches it matches and tries the candidates
// there. The tree only leaves out candidates that cannot hold: each candidate found is still checked in full.

import type { Attributes } from "../request/attributes.js"
import type { Attribute, AttributeIndex } from "./attribute.js"

export interface Candidate {
  /** Positive values, by attribute, of which one must match for the candidate to hold. Used only for indexing. */
  readonly needs: readonly Need[]
  holds(attributes: Attributes): boolean
}

export interface Need {
  readonly attribute: Attribute
  readonly values: readonly string[]
}

interface Numbered<C> {
  readonly ordinal: number
  readonly candidate: C
}

interface Tree<C> {
  /** Candidates that are not worth indexing further, in order. */
  leaf: Numbered<C>[]
  branches: readonly AttributeIndex<Tree<C>>[]
  /** The number of the last search that visited this node. */
  visited: number
}

const NONE: readonly never[] = []

const tree = <C>(leaf: Numbered<C>[] = []): Tree<C> => ({ leaf, branches: NONE, visited: 0 })

/** Up to this size, trying each candidate is cheaper than a lookup. */
const LEAF_SIZE = 4
/**
 * The number of values visited while the tree grows, per value written: rules with many values must not multiply by
 * level.
 */
const WORK_PER_VALUE = 8

export class FirstMatch<C extends Candidate> {
  readonly #root: Tree<C>
  // State of the current search, kept here so that a search allocates nothing.
  #best: Numbered<C> | undefined
  #attributes: Attributes | undefined
  #search = 0
  #searches = 0
  readonly #visit = (below: Tree<C>): boolean => {
    // A header with many lines leads to the same branch repeatedly; the caller must not be able to multiply our work.
    if (below.visited !== this.#search) this.#try(below)
    return false
  }

  /** Without `indexed`, candidates are tried in order, which is cheaper if there are fewer requests than candidates. */
  constructor(candidates: readonly C[], indexed = true) {
    this.#root = tree(candidates.map((candidate, ordinal) => ({ ordinal, candidate })))
    if (!indexed) return
    let work = 0
    for (const candidate of candidates) work += workOn(candidate)
    grow(this.#root, new Set(), { work: work * WORK_PER_VALUE })
  }

  find(attributes: Attributes): C | undefined {
    // Reading an attribute might throw or start another search, so the state of an outer search must be restored.
    const best = this.#best
    const around = this.#attributes
    const search = this.#search
    this.#best = undefined
    this.#attributes = attributes
    this.#search = ++this.#searches
    try {
      this.#try(this.#root)
      return (this.#best as Numbered<C> | undefined)?.candidate // set inside #try, which the compiler does not see
    } finally {
      this.#best = best
      this.#attributes = around
      this.#search = search
    }
  }

  /** Candidates that share a value with the request or have no needs, whether or not they hold; at most `limit`. */
  reachable(attributes: Attributes, limit: number): readonly C[] {
    const found = new Set<C>()
    const visited = new Set<Tree<C>>()
    const visit = (at: Tree<C>): boolean => {
      if (visited.has(at)) return false
      visited.add(at)
      for (const { candidate } of at.leaf) {
        if (found.size >= limit) return true
        found.add(candidate)
      }
      return at.branches.some(branch => branch.some(attributes, visit))
    }
    visit(this.#root)
    return [...found]
  }

  #try(at: Tree<C>): void {
    const attributes = this.#attributes
    if (attributes === undefined) return
    at.visited = this.#search
    for (const branch of at.branches) branch.some(attributes, this.#visit)
    for (const numbered of at.leaf) {
      // Leaves are sorted: the rest of this one cannot precede the best candidate so far.
      if (this.#best !== undefined && numbered.ordinal >= this.#best.ordinal) return
      if (!numbered.candidate.holds(attributes)) continue
      this.#best = numbered
      return
    }
  }
}

interface Budget {
  work: number
}

interface Branches<C> {
  readonly index: AttributeIndex<Tree<C>>
  /** The attributes that the branches above have already used. */
  readonly used: ReadonlySet<string>
}

/** Splits the leaf into branches as far as that pays, recursively. */
function grow<C extends Candidate>(at: Tree<C>, used: ReadonlySet<string>, budget: Budget): void {
  if (at.leaf.length <= LEAF_SIZE || budget.work <= 0) return
  const ranks = rankedAttributes(at.leaf, used, budget)
  const kept: Numbered<C>[] = []
  const branches = new Map<string, Branches<C>>()
  const below = new Map<Tree<C>, ReadonlySet<string>>()
  for (const numbered of at.leaf) {
    const need = bestNeed(numbered.candidate, ranks)
    if (need === undefined) {
      kept.push(numbered)
      continue
    }
    const { name } = need.attribute
    const filing = branches.get(name) ?? { index: need.attribute.index(), used: new Set(used).add(name) }
    branches.set(name, filing)
    for (const value of need.values) {
      const branch = filing.index.entry(value, tree)
      if (branch.leaf.at(-1) !== numbered) branch.leaf.push(numbered)
      below.set(branch, filing.used)
    }
  }
  at.leaf = kept
  at.branches = [...branches.values()].map(({ index }) => index)
  for (const [branch, usedBelow] of below) grow(branch, usedBelow, budget)
}

// `*` matches nearly every request, so filing under it separates nothing.
const isSelective = ({ values }: Need): boolean => !values.includes("*")

/** The need under the attribute of lowest rank: most candidates then share few indices. */
function bestNeed({ needs }: Candidate, ranks: ReadonlyMap<string, number>): Need | undefined {
  let best: Need | undefined
  let lowest = Number.POSITIVE_INFINITY
  for (const need of needs) {
    const rank = ranks.get(need.attribute.name)
    if (rank === undefined || rank >= lowest || !isSelective(need)) continue
    lowest = rank
    best = need
  }
  return best
}

/** The cost of looking at the candidate once. */
function workOn({ needs }: Candidate): number {
  let work = 1
  for (const { values } of needs) work += values.length
  return work
}

interface Tally {
  filed: number
  entries: number
  readonly sizes: Map<string, number>
}

/** The attributes that separate the candidates better than trying half of them would, best first, with their ranks. */
function rankedAttributes(
  candidates: readonly Numbered<Candidate>[],
  used: ReadonlySet<string>,
  budget: Budget,
): ReadonlyMap<string, number> {
  const tallies = new Map<string, Tally>()
  for (const { candidate } of candidates) {
    budget.work -= workOn(candidate)
    for (const need of candidate.needs) if (!used.has(need.attribute.name) && isSelective(need)) count(tallies, need)
  }
  const costs: (readonly [name: string, cost: number])[] = []
  for (const [name, { filed, entries, sizes }] of tallies) {
    let squares = 0
    for (const size of sizes.values()) squares += size * size
    // The expected number of candidates that a request still has to try: its bucket, weighted by size, and a share of
    // the candidates that are not indexed here, which another attribute will separate.
    const cost = squares / entries + (candidates.length - filed) / 2
    if (cost < candidates.length / 2) costs.push([name, cost])
  }
  costs.sort(([, a], [, b]) => a - b)
  return new Map(costs.map(([name], rank) => [name, rank]))
}

function count(tallies: Map<string, Tally>, { attribute, values }: Need): void {
  const tally = tallies.get(attribute.name) ?? { filed: 0, entries: 0, sizes: new Map<string, number>() }
  tallies.set(attribute.name, tally)
  tally.filed++
  tally.entries += values.length
  for (const value of values) tally.sizes.set(value, (tally.sizes.get(value) ?? 0) + 1)
}
