// SPDX-License-Identifier: Apache-2.0
// The input of the search: is there a request that meets every need and no ban? Rules, token rules and modes are all
// expressed this way, so one search answers every question.

import type { Dimension } from "../classes/dimension.js"
import type { Mark } from "../classes/mark.js"

/** Holds where the value bears one of the marks or, negated, none of them. Absent bears none. */
export interface Condition {
  readonly dimension: Dimension
  readonly negated: boolean
  readonly marks: readonly Mark[]
}

/** Conditions that must all hold. */
export interface Part {
  readonly conditions: readonly Condition[]
  /**
   * Something beside the conditions is asked that the search cannot follow. As a need the part then stands for more than
   * it says and as a ban for nothing, so that "there is no such request" stays true; a request that is found is replayed.
   */
  readonly opaque: boolean
}

/** Matches where every group has a part that holds. */
export interface Region {
  /** INVARIANT: regions of equal key match the same requests. */
  readonly key: string
  readonly groups: readonly (readonly Part[])[]
}

/** A request must lie in one region of each need, and in no ban. */
export interface Problem {
  readonly needs: readonly (readonly Region[])[]
  readonly bans: readonly Region[]
}

/** Solved by what solves all of them. */
export function joined(...problems: readonly Problem[]): Problem {
  return { needs: problems.flatMap(({ needs }) => needs), bans: problems.flatMap(({ bans }) => bans) }
}

export const EVERYWHERE: Region = { key: "everywhere", groups: [] }

export function region(...conditions: readonly Condition[]): Region {
  const part: Part = { conditions, opaque: false }
  return { key: keyOf([[part]]), groups: [[part]] }
}

export function keyOf(groups: Region["groups"]): string {
  return groups.map(parts => `(${together(parts.map(partKey), "|")})`).join("&")
}

/** In whatever order they were. Most are alone, of thousands. */
function together(keys: readonly string[], joint: string): string {
  return keys.length === 1 ? (keys[0] ?? "") : [...new Set(keys)].sort().join(joint)
}

function partKey({ conditions, opaque }: Part): string {
  return `${together(conditions.map(conditionKey), "&")}${opaque ? "&?" : ""}`
}

const conditionKeys = new WeakMap<Condition, string>()

export function conditionKey(condition: Condition): string {
  let known = conditionKeys.get(condition)
  if (known === undefined) {
    const { dimension, negated, marks } = condition
    const [first, ...others] = marks
    const keys = others.length === 0 ? [first?.key] : [...new Set(marks.map(({ key }) => key))].sort()
    known = `${dimension.name}${negated ? "∉" : "∈"}${JSON.stringify(keys)}`
    conditionKeys.set(condition, known)
  }
  return known
}
