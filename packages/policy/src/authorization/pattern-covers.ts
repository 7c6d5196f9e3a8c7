// SPDX-License-Identifier: Apache-2.0
// Whether one pattern certainly matches everything another matches, and whether two certainly have no text in common. In
// doubt the answer is no: an analysis built on it may miss a finding but never invents one.

import { isUriPath, type PathTemplate } from "./path-template.js"
import { matchesStars, type Pattern } from "./pattern.js"

export function patternCovers(wide: Pattern, narrow: Pattern): boolean {
  switch (wide.kind) {
    case "present":
      return narrow.kind !== "exact" || narrow.text !== ""
    case "exact":
      return narrow.kind === "exact" && narrow.text === wide.text
    case "prefix":
      return beginning(narrow).startsWith(wide.text)
    case "suffix":
      return ending(narrow).endsWith(wide.text)
    case "template":
      if (narrow.kind === "exact") {
        return matchesTemplate(wide.template, narrow.text) && (!wide.ofUri || isUriPath(narrow.text))
      }
      return narrow.kind === "template" && wide.text === narrow.text
    case "stars":
      if (narrow.kind === "exact") return matchesStars(wide.pieces, narrow.text)
      return narrow.kind === "stars" && wide.pieces.join("*") === narrow.pieces.join("*")
  }
}

/** Whether no text matches both patterns. */
export function patternsApart(a: Pattern, b: Pattern): boolean {
  // The attribute determines whether `*` matches an empty text.
  if (a.kind === "present" || b.kind === "present") return false
  if (a.kind === "exact") return !patternCovers(b, a)
  if (b.kind === "exact") return !patternCovers(a, b)
  return (
    neitherFits(beginning(a), beginning(b), (long, short) => long.startsWith(short)) ||
    neitherFits(ending(a), ending(b), (long, short) => long.endsWith(short))
  )
}

function neitherFits(a: string, b: string, fits: (long: string, short: string) => boolean): boolean {
  return !fits(a, b) && !fits(b, a)
}

/** The prefix of every text that the pattern matches. */
function beginning(pattern: Pattern): string {
  switch (pattern.kind) {
    case "exact":
    case "prefix":
      return pattern.text
    case "template": {
      const operator = pattern.template.head.indexOf("one")
      const literals = operator < 0 ? pattern.template.head : pattern.template.head.slice(0, operator)
      const text = literals.map(segment => (segment === "one" ? "" : `/${segment.literal}`)).join("")
      return operator < 0 && pattern.template.tail === undefined ? text : `${text}/`
    }
    case "stars":
      return pattern.pieces[0] ?? ""
    case "suffix":
    case "present":
      return ""
  }
}

/** The suffix of every text that the pattern matches. */
function ending(pattern: Pattern): string {
  switch (pattern.kind) {
    case "exact":
    case "suffix":
      return pattern.text
    case "template":
      return pattern.template.tail ?? ""
    case "stars":
      return pattern.pieces.at(-1) ?? ""
    case "prefix":
    case "present":
      return ""
  }
}

function matchesTemplate({ head, tail }: PathTemplate, path: string): boolean {
  let from = 0
  for (const segment of head) {
    if (path.charCodeAt(from) !== SLASH) return false
    const slash = path.indexOf("/", from + 1)
    const end = slash < 0 ? path.length : slash
    const length = end - from - 1
    if (
      segment === "one"
        ? length === 0
        : length !== segment.literal.length || !path.startsWith(segment.literal, from + 1)
    ) {
      return false
    }
    from = end
  }
  if (tail === undefined) return from === path.length
  return path.charCodeAt(from) === SLASH && path.length - tail.length > from && path.endsWith(tail)
}

const SLASH = 0x2f
