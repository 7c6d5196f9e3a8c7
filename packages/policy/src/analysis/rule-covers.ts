// SPDX-License-Identifier: Apache-2.0
// Decides whether one rule certainly matches everything another rule matches. It may miss a case but never claims a wrong
// one: when the budget is used up, the answer is no.

import type { Clause, Criterion } from "../authorization/criterion.js"
import type { RuleParts } from "../authorization/rule.js"
import type { Steps, Work } from "./work.js"

export function* ruleCovers(wide: RuleParts, narrow: RuleParts, work: Work): Steps<boolean> {
  return (
    (yield* listCovers(wide.from, narrow.from, narrow.when, work)) &&
    (yield* listCovers(wide.to, narrow.to, narrow.when, work)) &&
    (yield* clauseCovers(wide.when, narrow.when, work))
  )
}

/** Whether each alternative of the narrow list, with its conditions, lies within some alternative of the wide list. */
function* listCovers(
  wide: readonly Clause[],
  narrow: readonly Clause[],
  conditions: Clause,
  work: Work,
): Steps<boolean> {
  if (wide.length === 0) return true
  for (const alternative of narrow.length === 0 ? [[]] : narrow) {
    if (!(yield* someCovers(wide, [...alternative, ...conditions], work))) return false
  }
  return true
}

function* someCovers(wide: readonly Clause[], given: Clause, work: Work): Steps<boolean> {
  for (const clause of wide) if (yield* clauseCovers(clause, given, work)) return true
  return false
}

function* clauseCovers(wide: Clause, narrow: Clause, work: Work): Steps<boolean> {
  for (const criterion of wide) if (!(yield* followsFromSome(criterion, narrow, work))) return false
  return true
}

function* followsFromSome(wanted: Criterion, given: Clause, work: Work): Steps<boolean> {
  for (const criterion of given) {
    if (work.exhausted) return false
    if (yield* criterionFollows(wanted, criterion, work)) return true
  }
  return false
}

/** Whether `wanted` holds wherever `given` does. */
function* criterionFollows(wanted: Criterion, given: Criterion, work: Work): Steps<boolean> {
  const { attribute, negated } = wanted
  if (!work.spend(1) || attribute.name !== given.attribute.name || negated !== given.negated) return false
  const [outer, inner] = negated ? [given.extents, wanted.extents] : [wanted.extents, given.extents]
  for (const narrow of inner) {
    if (work.due) yield
    if (!outer.some(wide => work.spend(1) && wide.covers(narrow))) return false
  }
  return true
}
