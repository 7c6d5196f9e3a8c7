// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { type PatternSyntax, parsePattern } from "../pattern.js"
import { PatternIndex } from "./pattern-index.js"

const SYNTAXES: readonly PatternSyntax[] = ["literal", "wildcard", "path", "stars"]

/** Few enough characters that patterns match texts, far enough apart that their tables change representation. */
const characters = fc.constantFrom("a", "b", "~", "\u00e9", "\u4e2d", "\ud83d\ude00", "/")
const pattern = fc
  .array(fc.oneof(characters, fc.constantFrom("*", "/{*}", "/{**}")), { minLength: 1, maxLength: 5 })
  .map(parts => parts.join(""))
const text = fc.array(characters, { maxLength: 7 }).map(parts => parts.join(""))

it("finds exactly the patterns that match a text", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...SYNTAXES),
      fc.boolean(),
      fc.array(pattern, { maxLength: 40 }),
      fc.array(text, { minLength: 1, maxLength: 10 }),
      (syntax, emptyIsPresent, patterns, texts) => {
        const readable = patterns.flatMap(written => {
          try {
            return [{ written, parsed: parsePattern(written, syntax) }]
          } catch {
            return []
          }
        })
        const index = new PatternIndex<Set<string>>(emptyIsPresent)
        for (const { written, parsed } of readable) index.file(parsed, () => new Set()).add(written)
        for (const sample of texts) {
          const found = new Set<string>()
          index.match(sample, filed => {
            for (const written of filed) found.add(written)
            return false
          })
          const alone = readable.filter(({ parsed }) => {
            const one = new PatternIndex<true>(emptyIsPresent)
            one.file(parsed, () => true)
            return one.match(sample, () => true)
          })
          expect([...found].sort()).toEqual([...new Set(alone.map(({ written }) => written))].sort())
        }
      },
    ),
    { numRuns: 500 * inject("effort") },
  )
})

it("stops at the first visit that returns true", () => {
  const index = new PatternIndex<string>(false)
  for (const written of ["a", "a*", "*a", "*"]) index.file(parsePattern(written, "wildcard"), () => written)
  const seen: string[] = []
  expect(index.match("a", filed => seen.push(filed) === 2)).toBe(true)
  expect(seen.length).toBe(2)
})

// Comparing every pair would exceed the test's timeout.
it("finds one of thousands of patterns that differ in one character or share wildcards", () => {
  const codes = Array.from({ length: 20_000 }, (_, n) => n)
  const wide = new PatternIndex<number>(false)
  for (const n of codes) wide.file(parsePattern(`${String.fromCharCode(0x3400 + n)}*`, "wildcard"), () => n)
  const stars = new PatternIndex<number>(false)
  for (const n of codes) stars.file(parsePattern(`a${n}*b*c`, "stars"), () => n)
  const tails = new PatternIndex<number>(false)
  for (const n of codes) tails.file(parsePattern(`/{**}/t${n}`, "path"), () => n)
  const found: number[] = []
  const visit = (filed: number): boolean => found.push(filed) === 0
  wide.match(`${String.fromCharCode(0x3400 + 19_999)}x`, visit)
  stars.match("a19999-b-c", visit)
  tails.match("/x/y/t19999", visit)
  expect(found).toContain(19_999)
  expect(found.filter(n => n === 19_999).length).toBe(3)
})
