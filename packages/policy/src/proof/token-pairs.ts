// SPDX-License-Identifier: Apache-2.0
// Requests with two tokens, for sides of a comparison that treat tokens differently. Which rules accept which token
// determines whether a side accepts both and whose claims its rules see, so each such pattern is one kind of request.
//
// INVARIANT: two tokens are enough. If one side rejects a request with more, a token that it rejects and the one whose
// claims count on the other side show the same difference; if neither does, the two whose claims count show it. What
// rules see of headers that tokens change is not modelled.

import type { Dialect } from "../mesh/config.js"
import type { Budget } from "./budget.js"
import { readsLocation } from "./frame.js"
import { istioTokenPairs, type Place } from "./istio-token-pairs.js"
import { accepted } from "./outcome.js"
import type { PolicySide } from "./policy-side.js"
import { joined } from "./search/formula.js"
import { solve } from "./search/solve.js"
import type { Space } from "./space.js"
import type { Pattern, TokenPair, TokenVerdict } from "./token-pair.js"
import { locationId, type ProofTokenRule } from "./token-rules.js"
import type { TokenSpace } from "./token-space.js"

const MAX_ACCEPTANCES = 4
const MAX_PLACES = 5

/** Undefined if there are too many kinds. `seesEdits`: whether rules read headers that tokens change. */
export function tokenPairs(
  sides: readonly PolicySide[],
  space: Space,
  seesEdits: boolean,
  budget: Budget | undefined,
  dialect?: Dialect,
): readonly TokenPair[] | undefined {
  const rules = sides.flatMap(({ tokens }) => tokens)
  const byAcceptance = [...new Map(rules.map(rule => [rule.acceptance, rule])).values()]
  const locations = [...new Map(rules.flatMap(one => one.locations.map(at => [locationId(at), at] as const))).entries()]
  if (byAcceptance.length > MAX_ACCEPTANCES || locations.length > MAX_PLACES) return undefined
  const places = locations.map(([id]) => id)
  const [first, second] = [space.token, space.secondToken].map(token =>
    places.map(place => patternsAt(place, byAcceptance, token, budget)),
  )
  if (dialect === "istio") {
    const filled = locations.map(([id, location], at): Place => {
      return { id, location, patterns: [first?.[at] ?? [], second?.[at] ?? []] }
    })
    return istioTokenPairs(sides, filled, verdicts => isTelling(verdicts, seesEdits))
  }
  const pairs: TokenPair[] = []
  for (const [at, place] of places.entries()) {
    for (const [other, otherPlace] of places.entries()) {
      // A header may have several lines; only the first of several parameters or cookies of a name counts.
      if (other < at || (other === at && locations[at]?.[1].kind !== "header")) continue
      for (const one of first?.[at] ?? []) {
        for (const two of second?.[other] ?? []) {
          const accepts = (rule: ProofTokenRule, token: 0 | 1): boolean =>
            [one, two][token]?.by.has(rule.acceptance) === true
          const verdicts = sides.map(({ tokens }) => verdictOn(tokens, [place, otherPlace], accepts))
          if (isTelling(verdicts, seesEdits)) {
            pairs.push({ places: [place, otherPlace], given: joined(one.given, two.given), verdicts })
          }
        }
      }
    }
  }
  return pairs
}

/** Whether the sides may decide differently from how they decide requests with one token. */
function isTelling(verdicts: readonly TokenVerdict[], seesEdits: boolean): boolean {
  const [first, ...others] = verdicts
  if (verdicts.every(verdict => verdict === "unauthenticated")) return false
  return seesEdits || others.some(verdict => JSON.stringify(verdict) !== JSON.stringify(first))
}

/** The sets of rules that can accept a token at this location while no other rule does. */
function patternsAt(
  place: string,
  rules: readonly ProofTokenRule[],
  token: TokenSpace,
  budget: Budget | undefined,
): readonly Pattern[] {
  let patterns: readonly Pattern[] = [{ by: new Set(), given: { needs: [], bans: [] } }]
  for (const rule of rules.filter(one => readsLocation(one, place))) {
    const regions = accepted(rule, token)
    patterns = patterns.flatMap(({ by, given }) => [
      { by, given: joined(given, { needs: [], bans: regions }) },
      { by: new Set([...by, rule.acceptance]), given: joined(given, { needs: [regions], bans: [] }) },
    ])
  }
  return patterns.filter(({ given }) => {
    if (given.needs.some(need => need.length === 0)) return false
    return budget === undefined || solve(given, budget) !== undefined
  })
}

/** Follows `tokens/evaluate.ts` and is tested against it. */
export function verdictOn(
  rules: readonly ProofTokenRule[],
  places: readonly [string, string],
  accepts: (rule: ProofTokenRule, token: 0 | 1) => boolean,
): TokenVerdict {
  for (const token of BOTH) {
    const looking = rules.filter(rule => readsLocation(rule, places[token]))
    if (looking.length > 0 && !looking.some(rule => accepts(rule, token))) return "unauthenticated"
  }
  const isMissing = (rule: ProofTokenRule) => rule.required && !BOTH.some(token => readsLocation(rule, places[token]))
  if (rules.some(isMissing)) return "unauthenticated"
  for (const rule of rules) {
    const order = (token: 0 | 1) => rule.locations.findIndex(location => locationId(location) === places[token])
    const [identity] = BOTH.filter(token => readsLocation(rule, places[token]) && accepts(rule, token)).sort(
      (a, b) => order(a) - order(b),
    )
    if (identity !== undefined) return { identity }
  }
  return { identity: undefined }
}

const BOTH = [0, 1] as const
