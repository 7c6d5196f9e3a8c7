// SPDX-License-Identifier: Apache-2.0
// Simplifies a problem without searching: drops needs that a ban excludes entirely, and bans that cannot overlap with the
// needs. This removes most of a large set of rules, because rules about other paths or callers are irrelevant to the
// question.

import type { Dimension } from "../classes/dimension.js"
import { areApart, type Mark } from "../classes/mark.js"
import { BanIndex } from "./ban-index.js"
import type { Condition, Part, Problem, Region } from "./formula.js"
import type { RefutationLog } from "./refutation-log.js"

export interface Simplified extends Problem {
  /** The index of each remaining need in the original problem. */
  readonly origins: readonly number[]
}

/**
 * A smaller problem with the same solutions, or undefined if it has none. `isTotal`: whether every value meets a
 * condition. The log gets the parts that are left out and are not obvious from the needs.
 */
export function simplified(
  { needs, bans }: Problem,
  isTotal: (condition: Condition) => boolean = () => false,
  log?: RefutationLog,
): Simplified | undefined {
  const index = indexOf(bans)
  const kept: (readonly Region[])[] = []
  const origins: number[] = []
  for (const [at, need] of needs.entries()) {
    // A region that a ban covers entirely cannot meet a need, even if it is opaque: region and ban are about one
    // request.
    const open = need.filter(region => {
      const taker = index.takerOf(region, isTotal)
      if (taker !== undefined) log?.cover(region, taker)
      return taker === undefined
    })
    if (open.length === 0) return unmet(at, log)
    if (open.some(({ groups }) => groups.length === 0)) continue
    kept.push(open)
    origins.push(at)
  }
  const must = certain(kept)
  const narrowed: (readonly Region[])[] = []
  for (const [at, need] of kept.entries()) {
    const possible = need.length === 1 ? need : need.filter(region => canMeet(region, must))
    if (possible.length === 0) return unmet(origins[at] ?? 0, log)
    narrowed.push(possible)
  }
  if (must.conflict !== undefined) return unmet(origins[must.conflict] ?? 0, log)
  return { needs: narrowed, origins, bans: index.touching(must.byDimension).filter(ban => canMeet(ban, must)) }
}

function unmet(need: number, log: RefutationLog | undefined): undefined {
  log?.need(need)
  return undefined
}

// Many problems share the same bans: there is one problem for each rule that changed.
const indexes = new WeakMap<readonly Region[], BanIndex>()

function indexOf(bans: readonly Region[]): BanIndex {
  let index = indexes.get(bans)
  if (index === undefined) {
    index = new BanIndex(bans)
    indexes.set(bans, index)
  }
  return index
}

class Must {
  readonly byDimension = new Map<Dimension, (readonly Mark[])[]>()
  /** The position of a need that contradicts the others; undefined if there is none. */
  conflict: number | undefined
}

/** What holds for every solution: the positive conditions of needs that leave no choice. */
function certain(needs: readonly (readonly Region[])[]): Must {
  const must = new Must()
  for (const [at, need] of needs.entries()) {
    const [only, ...others] = need
    if (only === undefined || others.length > 0) continue
    for (const parts of only.groups) {
      const [part, ...alternatives] = parts
      if (part === undefined || alternatives.length > 0) continue
      for (const condition of part.conditions) {
        if (condition.negated) continue
        if (!agrees(condition, must)) must.conflict ??= at
        const known = must.byDimension.get(condition.dimension) ?? []
        must.byDimension.set(condition.dimension, [...known, condition.marks])
      }
    }
  }
  return must
}

function canMeet({ groups }: Region, must: Must): boolean {
  return groups.every(parts => parts.some(part => partCanMeet(part, must)))
}

function partCanMeet({ conditions }: Part, must: Must): boolean {
  for (const condition of conditions) if (!agrees(condition, must)) return false
  return true
}

/** In a multi-valued dimension, different values may match different marks, so only single values can contradict. */
function agrees({ dimension, negated, marks }: Condition, must: Must): boolean {
  if (negated || dimension.several) return true
  const known = must.byDimension.get(dimension)
  if (known === undefined) return true
  for (const others of known) {
    let common = false
    for (const mark of marks) {
      for (const other of others) {
        if (areApart(mark, other)) continue
        common = true
        break
      }
      if (common) break
    }
    if (!common) return false
  }
  return true
}
