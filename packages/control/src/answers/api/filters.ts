// SPDX-License-Identifier: Apache-2.0
// Filters of calls and decisions from the query string: `verdict`, `workload`, `caller`, `policy`, `path`, each with a
// `not-` form and repeatable. `*` matches any text.

import { badRequest } from "./answers-api-error.js"

/** Fields that a filter can match; several values if an object has several names. */
export type Traits = { readonly [K in (typeof TRAITS)[number]]: readonly (string | undefined)[] }

const TRAITS = ["verdict", "workload", "caller", "policy", "path"] as const
const MAX_PATTERNS = 20
const MAX_LENGTH = 512

export type Filter = (traits: Traits) => boolean

export function readFilter(query: URLSearchParams): Filter {
  const wanted = TRAITS.map(trait => ({
    trait,
    only: patternsIn(query, trait),
    not: patternsIn(query, `not-${trait}`),
  }))
  return traits =>
    wanted.every(({ trait, only, not }) => {
      const values = traits[trait]
      const matches = (patterns: readonly Pattern[]): boolean =>
        values.some(value => value !== undefined && patterns.some(pattern => pattern(value)))
      return (only.length === 0 || matches(only)) && !matches(not)
    })
}

type Pattern = (value: string) => boolean

function patternsIn(query: URLSearchParams, name: string): readonly Pattern[] {
  const texts = query.getAll(name).filter(text => text !== "")
  if (texts.length > MAX_PATTERNS) throw badRequest(`at most ${MAX_PATTERNS} values of \`${name}\``)
  return texts.map(text => {
    if (text.length > MAX_LENGTH) throw badRequest(`\`${name}\` has more than ${MAX_LENGTH} characters`)
    return patternOf(text)
  })
}

/** Does not use a regular expression: the user must not be able to choose how long a match takes. */
function patternOf(text: string): Pattern {
  const [first = "", ...rest] = text.split("*")
  const last = rest.pop()
  if (last === undefined) return value => value === first
  return value => {
    if (!value.startsWith(first)) return false
    let at = first.length
    for (const part of rest) {
      const found = value.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return value.length >= at + last.length && value.endsWith(last)
  }
}
