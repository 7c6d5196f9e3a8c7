// SPDX-License-Identifier: Apache-2.0
// Whether one rule is certain to match whatever another matches. Like the patterns it is built on it may miss a case,
// and never claims one that is not so: once the work is used up the answer is no.

import type { Clause, Criterion } from "../authorization/criterion.js"
import type { RuleParts } from "../authorization/rule.js"
import type { Work } from "./work.js"

export function ruleCovers(wide: RuleParts, narrow: RuleParts, work: Work): boolean {
  return (
    listCovers(wide.from, narrow.from, narrow.when, work) &&
    listCovers(wide.to, narrow.to, narrow.when, work) &&
    clauseCovers(wide.when, narrow.when, work)
  )
}

/** Each alternative of the narrow list, taken with its conditions, lies within some alternative of the wide one. */
function listCovers(wide: readonly Clause[], narrow: readonly Clause[], conditions: Clause, work: Work): boolean {
  if (wide.length === 0) return true
  const alternatives = narrow.length === 0 ? [[]] : narrow
  return alternatives.every(alternative => {
    const given = [...alternative, ...conditions]
    return wide.some(clause => clauseCovers(clause, given, work))
  })
}

function clauseCovers(wide: Clause, narrow: Clause, work: Work): boolean {
  return wide.every(criterion => narrow.some(other => criterionFollows(criterion, other, work)))
}

/** Whether `wanted` holds wherever `given` does. */
function criterionFollows(wanted: Criterion, given: Criterion, work: Work): boolean {
  const { attribute, negated } = wanted
  if (!work.spend(1) || attribute.name !== given.attribute.name || negated !== given.negated) return false
  const [outer, inner] = negated ? [given.values, wanted.values] : [wanted.values, given.values]
  return inner.every(value => outer.some(cover => work.spend(1) && attribute.covers(cover, value)))
}
