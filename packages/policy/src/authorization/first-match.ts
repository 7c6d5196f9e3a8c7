// SPDX-License-Identifier: Apache-2.0
// Finds the first of many candidates that holds for a request without trying them all. A tree splits the candidates by
// the attribute that separates them best; a request follows only the branches it matches and tries what it finds there.
// The tree only ever leaves out candidates that cannot hold: each one found is still checked in full.

import type { Attributes } from "../request/attributes.js"
import type { Attribute, AttributeIndex } from "./attribute.js"

export interface Candidate {
  /** Positive values of which one must match for the candidate to hold, by attribute. Used for splitting only. */
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

/** A leaf lists its candidates in order; once split they hang below `branches`, and below `rest` what has no such need. */
interface Tree<C> {
  leaf: Numbered<C>[]
  branches: AttributeIndex<Tree<C>> | undefined
  rest: Tree<C> | undefined
}

const tree = <C>(leaf: Numbered<C>[] = []): Tree<C> => ({ leaf, branches: undefined, rest: undefined })

/** Up to here trying each costs less than asking the tree. */
const LEAF_SIZE = 4
/** Filed entries per value written, over the whole tree: many-valued rules must not multiply from level to level. */
const ENTRIES_PER_VALUE = 8

export class FirstMatch<C extends Candidate> {
  readonly #root: Tree<C>
  // State of the search under way, kept here so that a search allocates nothing.
  #best: Numbered<C> | undefined
  #attributes: Attributes | undefined
  readonly #visit = (below: Tree<C>): boolean => {
    this.#search(below)
    return false
  }

  constructor(candidates: readonly C[]) {
    let values = 0
    for (const { needs } of candidates) for (const need of needs) values += need.values.length
    this.#root = tree(candidates.map((candidate, ordinal) => ({ ordinal, candidate })))
    grow(this.#root, new Set(), { entries: values * ENTRIES_PER_VALUE })
  }

  find(attributes: Attributes): C | undefined {
    this.#best = undefined
    this.#attributes = attributes
    this.#search(this.#root)
    this.#attributes = undefined
    return (this.#best as Numbered<C> | undefined)?.candidate // set inside #search, which the compiler does not see
  }

  /** Candidates that share a value with the request, or need none, whether they hold or not; at most `limit`. */
  reachable(attributes: Attributes, limit: number): readonly C[] {
    const found = new Set<C>()
    const visit = (from: Tree<C>): boolean => {
      for (let at: Tree<C> | undefined = from; at !== undefined; at = at.rest) {
        for (const { candidate } of at.leaf) {
          if (found.size >= limit) return true
          found.add(candidate)
        }
        if (at.branches?.some(attributes, visit)) return true
      }
      return false
    }
    visit(this.#root)
    return [...found]
  }

  #search(from: Tree<C>): void {
    const attributes = this.#attributes
    if (attributes === undefined) return
    for (let at: Tree<C> | undefined = from; at !== undefined; at = at.rest) {
      at.branches?.some(attributes, this.#visit)
      for (const numbered of at.leaf) {
        // Leaves are in order: nothing behind this one can be earlier than what was found.
        if (this.#best !== undefined && numbered.ordinal >= this.#best.ordinal) break
        if (!numbered.candidate.holds(attributes)) continue
        this.#best = numbered
        break
      }
    }
  }
}

function grow<C extends Candidate>(from: Tree<C>, used: ReadonlySet<string>, budget: { entries: number }): void {
  for (let at: Tree<C> | undefined = from; at !== undefined; at = at.rest) {
    if (at.leaf.length <= LEAF_SIZE) return
    const split = bestSplit(at.leaf, used)
    if (split === undefined || split.entries > budget.entries) return
    budget.entries -= split.entries

    const { attribute } = split
    const branches = attribute.index<Tree<C>>()
    const rest = tree<C>()
    const below = new Set<Tree<C>>()
    for (const numbered of at.leaf) {
      const need = selectiveNeed(numbered.candidate, attribute.name)
      if (need === undefined) rest.leaf.push(numbered)
      for (const value of need?.values ?? []) {
        const branch = branches.entry(value, tree)
        below.add(branch)
        if (branch.leaf.at(-1) !== numbered) branch.leaf.push(numbered)
      }
    }
    at.leaf = []
    at.branches = branches
    at.rest = rest
    const usedBelow = new Set(used).add(attribute.name)
    for (const branch of below) grow(branch, usedBelow, budget)
  }
}

// `*` matches nearly every request, so filing under it separates nothing.
function selectiveNeed(candidate: Candidate, attribute: string): Need | undefined {
  return candidate.needs.find(need => need.attribute.name === attribute && !need.values.includes("*"))
}

interface Split {
  readonly attribute: Attribute
  readonly entries: number
}

function bestSplit(candidates: readonly Numbered<Candidate>[], used: ReadonlySet<string>): Split | undefined {
  const tallies = new Map<
    string,
    { attribute: Attribute; filed: number; entries: number; sizes: Map<string, number> }
  >()
  for (const { candidate } of candidates) {
    const seen = new Set<string>()
    for (const { attribute, values } of candidate.needs) {
      if (used.has(attribute.name) || seen.has(attribute.name) || values.includes("*")) continue
      seen.add(attribute.name)
      const tally = tallies.get(attribute.name) ?? { attribute, filed: 0, entries: 0, sizes: new Map<string, number>() }
      tallies.set(attribute.name, tally)
      tally.filed++
      tally.entries += values.length
      for (const value of values) tally.sizes.set(value, (tally.sizes.get(value) ?? 0) + 1)
    }
  }
  let best: Split | undefined
  let bestCost = candidates.length / 2
  for (const { attribute, filed, entries, sizes } of tallies.values()) {
    let squares = 0
    for (const size of sizes.values()) squares += size * size
    // What a request still has to try: the bucket it falls into, weighted by size, and a share of the unfiled, which
    // the next attribute down the tree will split further.
    const cost = squares / entries + (candidates.length - filed) / 2
    if (cost < bestCost) {
      bestCost = cost
      best = { attribute, entries }
    }
  }
  return best
}
