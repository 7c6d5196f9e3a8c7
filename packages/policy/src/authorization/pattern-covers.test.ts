// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { PatternIndex } from "./index/pattern-index.js"
import { type PatternSyntax, parsePattern } from "./pattern.js"
import { patternCovers, patternsApart } from "./pattern-covers.js"

const covers = (wide: string, narrow: string, syntax: PatternSyntax) =>
  patternCovers(parsePattern(wide, syntax), parsePattern(narrow, syntax))

describe("patternCovers", () => {
  test.each<[string, string, PatternSyntax, boolean]>([
    ["*", "a*", "wildcard", true],
    ["/a*", "/a/b", "path", true],
    ["/a*", "/a/b*", "path", true],
    ["/a/b*", "/a*", "path", false],
    ["/a*", "/a/{*}", "path", true],
    ["/a/b*", "/a/{*}", "path", false],
    ["/a/{*}", "/a/b", "path", true],
    ["/a/{*}", "/a/b/c", "path", false],
    ["*/cart", "/x/{**}/cart", "path", true],
    ["*.txt", "*.txt", "path", true],
    ["*txt", "*.txt", "path", true],
    ["*.txt", "*txt", "path", false],
    ["a*c", "abc", "stars", true],
    ["a*", "a*c", "stars", true],
    ["x", "y", "literal", false],
  ])("%s over %s (%s): %s", (wide, narrow, syntax, expected) => {
    expect(covers(wide, narrow, syntax)).toBe(expected)
  })

  it("never returns true if a text matches only the narrow pattern", () => {
    const piece = fc.constantFrom("/", "a", "b", "*", "{*}", "{**}", "/a", "/b")
    const pattern = fc
      .array(piece, { minLength: 1, maxLength: 5 })
      .map(pieces => pieces.join(""))
      .filter(value => attempt(() => parsePattern(value, "path")))
    const text = fc.array(fc.constantFrom("/", "a", "b", "|"), { maxLength: 6 }).map(pieces => `/${pieces.join("")}`)
    fc.assert(
      fc.property(pattern, pattern, fc.array(text, { minLength: 30, maxLength: 30 }), (wide, narrow, texts) => {
        if (!covers(wide, narrow, "path")) return
        for (const sample of texts) if (matches(narrow, sample)) expect(matches(wide, sample)).toBe(true)
      }),
      { numRuns: 2_000 * inject("effort") },
    )
  })
})

describe("patternsApart", () => {
  it.each<[string, string, PatternSyntax, boolean]>([
    ["/a*", "/b*", "path", true],
    ["/a*", "/a/b*", "path", false],
    ["*.txt", "*.png", "path", true],
    ["/a*", "*b", "path", false],
    ["/a/{*}", "/a/b/c", "path", true],
    ["/a/{*}", "/a/b", "path", false],
    ["a*c", "abd", "stars", true],
    ["a*c", "b*c", "stars", true],
    ["a*b", "a*c", "wildcard", true],
    ["*", "", "wildcard", false],
  ])("%s and %s (%s): %s", (a, b, syntax, expected) => {
    expect(patternsApart(parsePattern(a, syntax), parsePattern(b, syntax))).toBe(expected)
    expect(patternsApart(parsePattern(b, syntax), parsePattern(a, syntax))).toBe(expected)
  })

  it.each<PatternSyntax>(["literal", "wildcard", "path", "istio-path", "target", "stars"])(
    "never holds of patterns that have a text in common (%s)",
    syntax => {
      const pattern = fc
        .array(fc.constantFrom("/", "a", "b", "*", "{*}", "{**}", "/a", "/b"), { minLength: 1, maxLength: 5 })
        .map(pieces => pieces.join(""))
        .filter(value => attempt(() => parsePattern(value, syntax)))
      const text = fc
        .array(fc.constantFrom("/", "a", "b", "*", "{*}", "["), { maxLength: 6 })
        .map(pieces => pieces.join(""))
      fc.assert(
        fc.property(pattern, pattern, fc.array(text, { minLength: 30, maxLength: 30 }), (a, b, texts) => {
          if (!patternsApart(parsePattern(a, syntax), parsePattern(b, syntax))) return
          for (const sample of [...texts, a, b]) {
            expect(matches(a, sample, syntax) && matches(b, sample, syntax)).toBe(false)
          }
        }),
        { numRuns: 200 * inject("effort") },
      )
    },
  )
})

function matches(pattern: string, text: string, syntax: PatternSyntax = "path"): boolean {
  const index = new PatternIndex<true>(false)
  index.file(parsePattern(pattern, syntax), () => true)
  return index.match(text, () => true)
}

function attempt(action: () => unknown): boolean {
  try {
    action()
    return true
  } catch {
    return false
  }
}
