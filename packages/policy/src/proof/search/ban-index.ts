// SPDX-License-Identifier: Apache-2.0
// Indexes the bans of many problems, so that a problem looks only at bans that can affect it: two patterns (or CIDR
// blocks) can only overlap if the prefix of one is a prefix of the other.

import type { Dimension } from "../classes/dimension.js"
import { headOf, type Mark } from "../classes/mark.js"
import { type Condition, conditionKey, type Region } from "./formula.js"

/** By dimension: lists of marks. Every solution matches at least one mark of each list. */
export type Musts = ReadonlyMap<Dimension, readonly (readonly Mark[])[]>

export class BanIndex {
  readonly keys: ReadonlySet<string>
  readonly #all: readonly Region[]
  readonly #filed = new Map<Dimension, HeadIndex>()
  readonly #unfiled: Region[] = []
  /** By the key of one of its conditions. */
  readonly #byCondition = new Map<string, Region[]>()
  #asked = 0

  constructor(bans: readonly Region[]) {
    const unique = new Map<string, Region>()
    for (const ban of bans) if (!unique.has(ban.key)) unique.set(ban.key, ban)
    this.keys = new Set(unique.keys())
    this.#all = [...unique.values()].filter(canBan)
  }

  /** A ban that holds wherever the region does; undefined if that is hard to determine. */
  takerOf(region: Region, isTotal: (condition: Condition) => boolean): Region | undefined {
    if (this.keys.has(region.key)) return region
    const known = new Set(conditionsOf(region).map(conditionKey))
    const follows = (condition: Condition): boolean => known.has(conditionKey(condition)) || isTotal(condition)
    for (const key of known) {
      for (const ban of this.#byCondition.get(key) ?? []) {
        if (ban.groups.every(parts => parts.some(part => !part.opaque && part.conditions.every(follows)))) return ban
      }
    }
    return undefined
  }

  /** INVARIANT: the result contains every ban that can match a solution. */
  touching(musts: Musts): readonly Region[] {
    // Indexing pays only for bans that many problems share.
    if (++this.#asked === WORTH_FILING) for (const ban of this.#all) this.#file(ban)
    if (this.#asked < WORTH_FILING || musts.size === 0) return this.#all
    const found = [...this.#unfiled]
    for (const [dimension, index] of this.#filed) {
      const [marks] = musts.get(dimension) ?? []
      if (marks === undefined) index.collectAll(found)
      else index.collect(marks.map(headOf), found)
    }
    return found
  }

  /** Indexes the ban under its most specific condition, or under none. */
  #file(ban: Region): void {
    let best: { readonly condition: Condition; readonly heads: readonly string[] } | undefined
    let longest = 0
    for (const condition of certainOf(ban)) {
      const heads = condition.marks.map(headOf)
      const shortest = Math.min(...heads.map(head => head.length))
      if (shortest <= longest) continue
      longest = shortest
      best = { condition, heads }
    }
    const [filed] = best === undefined ? conditionsOf(ban) : [best.condition]
    if (filed !== undefined) append(this.#byCondition, conditionKey(filed), ban)
    if (best === undefined) {
      this.#unfiled.push(ban)
      return
    }
    let index = this.#filed.get(best.condition.dimension)
    if (index === undefined) {
      index = new HeadIndex()
      this.#filed.set(best.condition.dimension, index)
    }
    index.file(best.heads, ban)
  }
}

const WORTH_FILING = 3

/** Whether the search models anything that the ban says. */
function canBan({ groups }: Region): boolean {
  return groups.every(parts => parts.some(({ opaque }) => !opaque))
}

/** What holds for every request of the region. */
function conditionsOf({ groups }: Region): readonly Condition[] {
  return groups.filter(parts => parts.length === 1).flatMap(parts => parts[0]?.conditions ?? [])
}

/** The conditions on single-valued attributes that every request of the region meets. */
function certainOf(region: Region): readonly Condition[] {
  return conditionsOf(region).filter(({ dimension, negated }) => !negated && !dimension.several)
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

class HeadIndex {
  readonly #byHead = new Map<string, Region[]>()
  readonly #all: Region[] = []
  #sorted: readonly string[] | undefined

  file(heads: readonly string[], ban: Region): void {
    this.#all.push(ban)
    this.#sorted = undefined
    for (const head of new Set(heads)) append(this.#byHead, head, ban)
  }

  collectAll(found: Region[]): void {
    for (const ban of this.#all) found.push(ban)
  }

  /** Adds bans with a head that begins with one of these heads, or the other way round. */
  collect(heads: readonly string[], found: Region[]): void {
    const seen = new Set<Region>()
    const take = (head: string): void => {
      for (const ban of this.#byHead.get(head) ?? []) seen.add(ban)
    }
    for (const head of new Set(heads)) {
      for (let length = 0; length < head.length; length++) take(head.slice(0, length))
      for (const longer of this.#beginningWith(head)) take(longer)
    }
    for (const ban of seen) found.push(ban)
  }

  *#beginningWith(head: string): Iterable<string> {
    this.#sorted ??= [...this.#byHead.keys()].sort()
    let [low, high] = [0, this.#sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sorted[middle] ?? "") < head) low = middle + 1
      else high = middle
    }
    for (; this.#sorted[low]?.startsWith(head); low++) yield this.#sorted[low] ?? ""
  }
}
