// SPDX-License-Identifier: Apache-2.0
// Whether one rule is certain to match whatever another matches. Like the patterns it is built on it may miss a case,
// and never claims one that is not so.

import type { Clause, Criterion } from "../authorization/criterion.js"
import type { RuleParts } from "../authorization/rule.js"

export function ruleCovers(wide: RuleParts, narrow: RuleParts): boolean {
  const implied = (clause: Clause): boolean => clauseCovers(clause, narrow.when)
  return (
    listCovers(wide.from, narrow.from, narrow.when) && listCovers(wide.to, narrow.to, narrow.when) && implied(wide.when)
  )
}

/** Each alternative of the narrow list, taken with its conditions, lies within some alternative of the wide one. */
function listCovers(wide: readonly Clause[], narrow: readonly Clause[], conditions: Clause): boolean {
  if (wide.length === 0) return true
  const alternatives = narrow.length === 0 ? [[]] : narrow
  return alternatives.every(alternative => wide.some(clause => clauseCovers(clause, [...alternative, ...conditions])))
}

function clauseCovers(wide: Clause, narrow: Clause): boolean {
  return wide.every(criterion => narrow.some(other => criterionFollows(criterion, other)))
}

/** Whether `wanted` holds wherever `given` does. */
function criterionFollows(wanted: Criterion, given: Criterion): boolean {
  const { attribute, negated } = wanted
  if (attribute.name !== given.attribute.name || negated !== given.negated) return false
  const [outer, inner] = negated ? [given.values, wanted.values] : [wanted.values, given.values]
  return inner.every(value => outer.some(cover => attribute.covers(cover, value)))
}
