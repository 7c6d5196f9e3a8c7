// SPDX-License-Identifier: Apache-2.0
// Finds other spellings of a field's values that the field does not match and that nothing else denies. Reports the first
// value that has any.

import { type Clause, Criterion } from "../../authorization/criterion.js"
import type { RuleParts } from "../../authorization/rule.js"
import type { MeshConfig } from "../../mesh/config.js"
import type { Steps, Work } from "../work.js"
import { OTHER_SPELLINGS, type Spelling } from "./other-spellings.js"

/** A field that excludes values, with the alternative that contains it. */
export interface Closed {
  readonly parts: RuleParts
  readonly clause: Clause
  readonly closed: Criterion
}

export interface Passed extends Spelling {
  readonly written: string
  /** Other spellings that pass, as callers send them. */
  readonly others: readonly string[]
}

/** Whether something certainly denies the request. */
export type Denies = (asked: RuleParts, text: string) => Steps<boolean>

/** Fields of the rule whose attribute has other spellings: `not` fields or others. */
export function closedIn(parts: RuleParts, negated: boolean): readonly Closed[] {
  const isOne = (one: Criterion): boolean => OTHER_SPELLINGS.has(one.attribute.name) && one.negated === negated
  return parts.to.flatMap(clause => clause.filter(isOne).map(closed => ({ parts, clause, closed })))
}

export function* firstPassed(place: Closed, mesh: MeshConfig, denies: Denies, work: Work): Steps<Passed | undefined> {
  const { clause, closed } = place
  const spellings = OTHER_SPELLINGS.get(closed.attribute.name)
  for (const written of closed.values) {
    if (!work.spend(1)) return undefined
    if (work.due) yield
    const passed: Spelling[] = []
    for (const spelling of spellings?.(written, mesh) ?? []) {
      const speaks = (one: Criterion): boolean => covered(one, spelling.seen, work) === (one === closed || one.negated)
      // The rule's fields on the attribute speak of the spelling by themselves.
      if (clause.some(one => isSame(one, closed) && speaks(one))) continue
      if (yield* denies(spelledSo(place, spelling.seen), spelling.seen)) continue
      if (work.exhausted) return undefined
      passed.push(spelling)
    }
    const [first, ...others] = passed
    if (first !== undefined) return { written, ...first, others: others.map(({ text }) => text) }
  }
  return undefined
}

export const isSame = (one: Criterion, other: Criterion): boolean => one.attribute.name === other.attribute.name

export function covered({ attribute, extents }: Criterion, text: string, work: Work): boolean {
  const one = attribute.extent(text)
  return extents.some(wide => work.spend(1) && wide.covers(one))
}

/** The requests of the rule in the other spelling. */
function spelledSo({ parts, clause, closed }: Closed, text: string): RuleParts {
  const asked = new Criterion(closed.field, closed.attribute, false, [text])
  return { from: parts.from, to: [[...clause.filter(one => !isSame(one, closed)), asked]], when: parts.when }
}

/** A request that passes, in words. */
export function requestWords({ clause, closed }: Closed, text: string): string {
  const given = clause.find(({ attribute, negated }) => attribute.name === "method" && !negated)?.values[0] ?? "GET"
  const method = given.includes("*") ? "GET" : given
  return closed.attribute.name === "path" ? `\`${method} ${text}\`` : `a ${method} with \`Host: ${text}\``
}

/** The other requests that pass, to follow a sentence about the first. */
export function othersWords({ others }: Passed): string {
  return others.length === 0 ? "" : `; other spellings that pass: ${others.map(text => `\`${text}\``).join(", ")}`
}
