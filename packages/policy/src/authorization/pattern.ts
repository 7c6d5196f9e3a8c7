// SPDX-License-Identifier: Apache-2.0
// The ways in which a policy value can match a text: exactly, by prefix (`v*`), by suffix (`*v`), by presence (`*`), by
// path template, or by stars anywhere (namespaces only).

import { isTemplate, type PathTemplate, parseTemplate } from "./path-template.js"

export type Pattern =
  | { readonly kind: "exact" | "prefix" | "suffix"; readonly text: string }
  | { readonly kind: "present" }
  | {
      readonly kind: "template"
      readonly text: string
      readonly template: PathTemplate
      /** Whether it matches only texts for which `isUriPath` is true. */
      readonly ofUri: boolean
    }
  | { readonly kind: "stars"; readonly pieces: readonly string[] }

/** How the values of an attribute are parsed. */
export type PatternSyntax = "literal" | "wildcard" | "path" | "istio-path" | "target" | "stars"

export function parsePattern(value: string, syntax: PatternSyntax): Pattern {
  switch (syntax) {
    case "literal":
      return { kind: "exact", text: value }
    case "path":
      if (EVERY_PATH.includes(value)) return { kind: "present" }
      return isTemplate(value) ? templatePattern(value, false) : wildcardPattern(value)
    case "istio-path":
      return isTemplate(value) ? templatePattern(value, true) : wildcardPattern(value)
    case "target":
      return value === "/*" ? { kind: "present" } : wildcardPattern(value)
    case "wildcard":
      return wildcardPattern(value)
    case "stars":
      return starsPattern(value)
  }
}

// A pattern for every path also covers the path of `OPTIONS *` (RFC 9112 section 3.2.4), the only one without a slash.
const EVERY_PATH: readonly string[] = ["/*", "/{**}"]

// A leading star takes precedence, so `*v*` is a suffix match for the literal `v*`.
function wildcardPattern(value: string): Pattern {
  if (value === "*") return { kind: "present" }
  if (value.startsWith("*")) return { kind: "suffix", text: value.slice(1) }
  if (value.endsWith("*")) return { kind: "prefix", text: value.slice(0, -1) }
  return { kind: "exact", text: value }
}

function templatePattern(value: string, ofUri: boolean): Pattern {
  const template = parseTemplate(value)
  // Validation rejects such a path. If one gets here anyway, a compile error keeps the last good program.
  if (typeof template === "string") throw new RangeError(`invalid path template \`${value}\`: ${template}`)
  return { kind: "template", text: value, template, ofUri }
}

function starsPattern(value: string): Pattern {
  const pieces = value.split("*")
  const [first = "", last = ""] = pieces
  if (pieces.length === 1) return { kind: "exact", text: value }
  if (pieces.every(piece => piece === "")) return { kind: "present" }
  if (pieces.length === 2 && last === "") return { kind: "prefix", text: first }
  if (pieces.length === 2 && first === "") return { kind: "suffix", text: last }
  return { kind: "stars", pieces }
}

/** The leftmost position of each piece suffices: a later one only leaves less room for the next piece. */
export function matchesStars(pieces: readonly string[], text: string): boolean {
  const first = pieces[0] ?? ""
  const last = pieces.at(-1) ?? ""
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let position = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, position)
    if (found < 0 || found + piece.length > end) return false
    position = found + piece.length
  }
  return true
}
