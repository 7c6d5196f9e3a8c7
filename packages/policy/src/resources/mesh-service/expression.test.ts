// SPDX-License-Identifier: Apache-2.0
import fc from "fast-check"
import { RE2JS } from "re2js"
import { describe, expect, inject, it, test } from "vitest"
import { meshNames } from "../../mesh/names.js"
import { validate } from "../validate.js"
import { expressionSize, MAX_EXPRESSION_SIZE } from "./expression.js"

describe("the size of an expression", () => {
  test.each([
    "/api/v[0-9]+/users/[^/]+",
    "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    "(?i)(chrome|firefox|safari)/[0-9.]+.*",
    "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*",
    "\\Q{*}\\E|[]^]|[^]x]|\\x{1F600}|\\pL+",
    "(?P<name>a|b)(?:c)(?i:d)",
    "a{0,3}(?i){3,5}",
  ])("of %s is within the limit", text => {
    expect(expressionSize(text)).toBeLessThanOrEqual(MAX_EXPRESSION_SIZE)
    expect(RE2JS.compile(text).programSize()).toBeLessThanOrEqual(expressionSize(text))
  })

  test.each([
    "((a{0,31}){0,31})",
    "(.*a.*b){250}",
    "(\\pL{0,31}){0,31}",
    "(ab){1000}",
    "(a?){600}",
    "(a|b|c){0,400}",
    "((((a?)?){30})?){30}",
    "(?i)[B-\\x{1e942}]",
    "(?i)[a-z\\pL\\x{100}-\\x{1e942}]",
    "\\pL".repeat(340),
    "[\\p{Greek}\\pL\\pN]".repeat(90),
  ])("of %.60s is beyond it", text => {
    expect(expressionSize(text)).toBeGreaterThan(MAX_EXPRESSION_SIZE)
  })

  it.each(["()()", "(?P<n>)()", "(|)(|)", "()*()+", "(){2}()"])("counts the empty parts of %s", text => {
    expect(RE2JS.compile(text).programSize()).toBeLessThanOrEqual(expressionSize(text))
  })

  it("is never estimated too low", () => {
    const piece = fc.constantFrom(
      ...Array.from("ab(|)*+?[]^$.-{}\\,"),
      "(a|b)",
      "{2}",
      "{0,3}",
      "{2,}",
      "{3,5}",
      "[a-f]",
      "[^]a]",
      "[[:alpha:]-]",
      "\\d",
      "\\pL",
      "\\Qa*b\\E",
      "\\Q",
      "(?i)",
      "(?:",
      "(?P<n>",
      "\\x{61}",
      "\\b",
    )
    let compiled = 0
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
        const text = pieces.join("")
        const size = expressionSize(text)
        let expression: RE2JS
        try {
          expression = RE2JS.compile(text)
        } catch {
          return
        }
        compiled++
        expect(expression.programSize()).toBeLessThanOrEqual(size)
      }),
      { numRuns: 3_000 * inject("effort") },
    )
    expect(compiled).toBeGreaterThan(1_000)
  })
})

describe("a MeshService that would keep the control plane busy", () => {
  const names = meshNames()
  const service = (...expressions: string[]) => ({
    apiVersion: `networking.${names.domain}/v1alpha3`,
    kind: "MeshService",
    metadata: { name: "m", namespace: "foo" },
    spec: {
      hosts: ["web"],
      rules: expressions.map(regex => ({
        match: [{ uri: { regex } }],
        route: [{ service: [{ host: "web" }] }],
      })),
    },
  })

  it("is rejected with the field, the size and the limit before anything is compiled", () => {
    const nested = Array.from({ length: 40 }, () => "((\\pL{0,31}){0,31})").join("")
    const { errors } = validate(service(...Array.from({ length: 20 }, () => nested)), names)
    expect(errors).toHaveLength(20)
    expect(errors[0]).toMatchObject({ code: "too-large", path: "spec.rules[0].match[0].uri.regex" })
    expect(errors[0]?.problem).toMatch(/compiles to up to \d{5,} instructions, more than 2048$/)
  })

  it("is rejected if many expressions are too large together", () => {
    const { errors } = validate(service(...Array.from({ length: 64 }, (_, n) => `x${n}(a?b?){60}`)), names)
    expect(errors[0]?.problem).toBe("the expressions compile to more than 16384 instructions together")
  })
})
