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
  /** Of each need, which one of the problem's it was. */
  readonly origins: readonly number[]
}

/**
 * The same problem with less in it, or undefined where nothing can solve it. `isTotal`: holds of every value. The log gets
 * what is left out and does not follow from one look at the needs.
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
    // A region that is forbidden whole is no way to meet a need. One that is opaque is the same request's either way.
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

// Many problems have the same bans: one for each rule that changed.
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
  /** The position of a need that contradicts the others; undefined where none does. */
  conflict: number | undefined
}

/** What holds of every solution: the positive conditions of needs that leave no choice. */
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

/** Of several values one may bear each mark, so only a single value can be torn apart. */
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
