// SPDX-License-Identifier: Apache-2.0
// Requests with two tokens as Istio's proxy judges them: the first rule that accepts all tokens it finds decides, and
// the first token it collects determines the caller. A token that one rule rejects matters only to the rules that look
// at it.
//
// INVARIANT: the effect of more than two tokens is compared with that of two. If three tokens would make the sides use
// other tokens than two do, the result is undefined.

import { JOINED_BY_ENVOY } from "../request/joined-headers.js"
import type { Location } from "../tokens/locations.js"
import { readsLocation } from "./frame.js"
import type { PolicySide } from "./policy-side.js"
import { joined, type Problem } from "./search/formula.js"
import type { Pattern, TokenPair, TokenVerdict } from "./token-pair.js"
import { locationId, type ProofTokenRule } from "./token-rules.js"

/** What a location may contain: which rules accept its first token, and which accept all of its tokens. */
interface Filling {
  readonly first: Pattern
  readonly all: ReadonlySet<string>
  /** The fewest tokens that produce it; if there are two, this is the second. */
  readonly tokens: number
  readonly second: Pattern | undefined
}

export interface Place {
  readonly id: string
  readonly location: Location
  /** The kinds of tokens at this location, as the first and as the second token of a request. */
  readonly patterns: readonly [readonly Pattern[], readonly Pattern[]]
}

const MAX_REQUESTS = 4_000

export function istioTokenPairs(
  sides: readonly PolicySide[],
  places: readonly Place[],
  isTelling: (verdicts: readonly TokenVerdict[]) => boolean,
): readonly TokenPair[] | undefined {
  const choices = places.map(fillingsOf)
  if (choices.reduce((product, { length }) => product * (length + 1), 1) > MAX_REQUESTS) return undefined
  const pairs: TokenPair[] = []
  const known = new Set<string>()
  const beyond = new Set<string>()
  for (const filled of combinations(choices)) {
    const tokens = filled.reduce((sum, one) => sum + (one?.tokens ?? 0), 0)
    const found = sides.map(side => verdictOn(side.tokens, places, filled))
    const verdicts = found.map((one): TokenVerdict => (typeof one === "number" ? { identity: 0 } : one))
    if (tokens === 0 || !isTelling(withPlaces(found, verdicts))) continue
    const described = found.map(one => (typeof one === "number" ? [one, keyOf(filled[one]?.first.by)] : one))
    const signature = JSON.stringify(described)
    if (tokens > 2) beyond.add(signature)
    else known.add(signature)
    if (tokens === 2) pairs.push(pairOf(places, filled, found))
  }
  return [...beyond].every(signature => known.has(signature)) ? pairs : undefined
}

/** The location of the token that determines the caller, as verdicts, so that two locations are two identities. */
function withPlaces(found: readonly Found[], verdicts: readonly TokenVerdict[]): readonly TokenVerdict[] {
  const [first] = found.filter(one => typeof one === "number")
  return found.map((one, side) => {
    if (typeof one === "number") return { identity: one === first ? 0 : 1 }
    return verdicts[side] ?? one
  })
}

/** Index of a location. */
type Found = number | "unauthenticated" | { readonly identity: undefined }

/** Follows `tokens/evaluate-istio.ts` and is tested against it. */
function verdictOn(
  rules: readonly ProofTokenRule[],
  places: readonly Place[],
  filled: readonly (Filling | undefined)[],
): Found {
  let hasToken = false
  for (const rule of rules) {
    const found = places.flatMap(({ id }, at) => (filled[at] !== undefined && readsLocation(rule, id) ? [at] : []))
    if (found.length === 0) continue
    hasToken = true
    if (!found.every(at => filled[at]?.all.has(rule.acceptance))) continue
    const collected = rule.locations.map(location => places.findIndex(({ id }) => id === locationId(location)))
    return collected.find(at => found.includes(at)) ?? -1
  }
  return hasToken ? "unauthenticated" : { identity: undefined }
}

function fillingsOf({ location, patterns: [patterns] }: Place): readonly Filling[] {
  const single = patterns.map((first): Filling => ({ first, all: first.by, tokens: 1, second: undefined }))
  // A header may have several lines; only the first of several parameters or cookies of a name counts.
  if (location.kind !== "header" || JOINED_BY_ENVOY.has(location.name)) return single
  return single.flatMap(one => {
    const reached = new Map([[keyOf(one.all), one]])
    // A Map is iterated in insertion order, including entries added during the iteration: the fewest tokens come first.
    for (const { all, tokens } of reached.values()) {
      for (const second of patterns) {
        const both = new Set([...all].filter(rule => second.by.has(rule)))
        const key = keyOf(both)
        const filling = { first: one.first, all: both, tokens: tokens + 1, second }
        if (!reached.has(key)) reached.set(key, filling)
      }
    }
    return [...reached.values()]
  })
}

const keyOf = (rules: ReadonlySet<string> | undefined): string => JSON.stringify([...(rules ?? [])].sort())

function* combinations(choices: readonly (readonly Filling[])[]): Generator<readonly (Filling | undefined)[]> {
  const [first, ...others] = choices
  if (first === undefined) {
    yield []
    return
  }
  for (const rest of combinations(others)) {
    yield [undefined, ...rest]
    for (const one of first) yield [one, ...rest]
  }
}

function pairOf(
  places: readonly Place[],
  filled: readonly (Filling | undefined)[],
  found: readonly Found[],
): TokenPair {
  const at = filled.flatMap((one, index) => (one === undefined ? [] : [index]))
  const [first = 0, second = first] = at
  const patterns = [filled[first]?.first, filled[first]?.second ?? filled[second]?.first]
  const given = patterns.map((pattern, token) => givenOf(places[token === 0 ? first : second], pattern, token))
  const verdicts = found.map(
    (one): TokenVerdict => (typeof one === "number" ? { identity: one === first ? 0 : 1 } : one),
  )
  return { places: [places[first]?.id ?? "", places[second]?.id ?? ""], given: joined(...given), verdicts }
}

function givenOf(place: Place | undefined, pattern: Pattern | undefined, token: number): Problem {
  const own = place?.patterns[token === 0 ? 0 : 1].find(({ by }) => keyOf(by) === keyOf(pattern?.by))
  return own?.given ?? { needs: [], bans: [] }
}
