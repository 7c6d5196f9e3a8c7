// SPDX-License-Identifier: Apache-2.0
// What can be seen without searching: needs that a ban takes away whole, and bans that cannot meet what must hold. Most
// of a large set of rules goes here, because a rule about other paths or callers says nothing about this question.

import type { Dimension } from "../classes/dimension.js"
import { areApart, type Mark } from "../classes/mark.js"
import type { Condition, Part, Problem, Region } from "./formula.js"

/** The same problem with less in it, or undefined where nothing can solve it. */
export function simplified({ needs, bans }: Problem): Problem | undefined {
  const banned = new Map(bans.map(ban => [ban.key, ban]))
  const kept: (readonly Region[])[] = []
  for (const need of needs) {
    // A region that is forbidden whole is no way to meet a need. One that is opaque is the same request's either way.
    const open = need.filter(({ key }) => !banned.has(key))
    if (open.length === 0) return undefined
    if (!open.some(({ groups }) => groups.length === 0)) kept.push(open)
  }
  const must = certain(kept)
  const narrowed: (readonly Region[])[] = []
  for (const need of kept) {
    const possible = need.length === 1 ? need : need.filter(region => canMeet(region, must))
    if (possible.length === 0) return undefined
    narrowed.push(possible)
  }
  if (!must.possible) return undefined
  return { needs: narrowed, bans: [...banned.values()].filter(ban => canBan(ban) && canMeet(ban, must)) }
}

/** Whether a ban says anything that the search can follow. */
function canBan({ groups }: Region): boolean {
  return groups.every(parts => parts.some(({ opaque }) => !opaque))
}

class Must {
  readonly byDimension = new Map<Dimension, (readonly Mark[])[]>()
  possible = true
}

/** What holds of every solution: the positive conditions of needs that leave no choice. */
function certain(needs: readonly (readonly Region[])[]): Must {
  const must = new Must()
  for (const need of needs) {
    const [only, ...others] = need
    if (only === undefined || others.length > 0) continue
    for (const parts of only.groups) {
      const [part, ...alternatives] = parts
      if (part === undefined || alternatives.length > 0) continue
      for (const condition of part.conditions) {
        if (condition.negated) continue
        if (!agrees(condition, must)) must.possible = false
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
