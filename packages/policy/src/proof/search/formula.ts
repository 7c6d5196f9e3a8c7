// SPDX-License-Identifier: Apache-2.0
// The input of the search: is there a request that meets every need and no ban? Rules, token rules and modes are all
// expressed this way, so one search answers every question.

import type { Dimension } from "../classes/dimension.js"
import type { Mark } from "../classes/mark.js"

/** Holds if the value matches one of the marks or, when negated, none of them. An absent value matches none. */
export interface Condition {
  readonly dimension: Dimension
  readonly negated: boolean
  readonly marks: readonly Mark[]
}

/** Conditions that must all hold. */
export interface Part {
  readonly conditions: readonly Condition[]
  /**
   * The part also has a condition that the search does not model. In a need it counts as met, and in a ban the part
   * never holds, so that "there is no such request" stays true; a request that is found is replayed.
   */
  readonly opaque: boolean
}

/** Matches if every group has a part that holds. */
export interface Region {
  /** INVARIANT: regions with equal keys match the same requests. */
  readonly key: string
  readonly groups: readonly (readonly Part[])[]
}

/** A request must match one region of each need, and no ban. */
export interface Problem {
  readonly needs: readonly (readonly Region[])[]
  readonly bans: readonly Region[]
}

/** A problem with the solutions that all of these problems share. */
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

/** Does not depend on the order of the keys. Of thousands, most are alone. */
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
