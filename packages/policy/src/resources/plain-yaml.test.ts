// SPDX-License-Identifier: Apache-2.0
// The library must read every text that the fast reader accepts as the same value; the other texts only take longer.

import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { readPlainYaml } from "./plain-yaml.js"
import { parseYaml, parseYamlSlowly } from "./yaml-text.js"

const plainly = (text: string): unknown => readPlainYaml(text)?.filter(value => value !== null)

describe("plain YAML", () => {
  it("includes the manifests that people write", () => {
    const text = `# a comment
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata:
  name: "p"
---
spec:
  rules:
  - from:
    - source:
        principals: [cluster.local/ns/a/sa/b, 'c']

    to:
      - operation:
          methods: []
          ports: ["8080", 80, true]
  other:
`
    const rule = {
      from: [{ source: { principals: ["cluster.local/ns/a/sa/b", "c"] } }],
      to: [{ operation: { methods: [], ports: ["8080", 80, true] } }],
    }
    expect(plainly(text)).toEqual([
      { apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy", metadata: { name: "p" } },
      { spec: { rules: [rule], other: null } },
    ])
    expect(parseYaml(text)[1]?.locate(["spec", "rules", 0, "to"], "value")).toEqual({ line: 13, column: 5 })
  })

  it.each([
    "a: 1\na: 2",
    "a: 010",
    "a: 1e3",
    "a: 0x1f",
    "a: b # c",
    "a: b: c",
    "a: b\n  c",
    "a: *x",
    "a: &x b",
    "a: |\n  text",
    "a: !t b",
    "a: {b: c}",
    "a: [b: c]",
    "a: [b, [c]]",
    'a: ["b, c"]',
    "a: ~",
    "a: Null",
    "a: True",
    "null: a",
    "a:\tb",
    "a: é",
    "  a: b",
    "a:\n    b: c\n  d: e",
    "- a\nb: c",
    "a:\n- b\n  c",
    "- - a",
    "--- a",
    "...",
    "%YAML 1.2\n---\na: b",
    "text",
    `a: ${"x".repeat(70_000)}`,
  ])("is not %j", text => expect(readPlainYaml(text)).toBeUndefined())
})

const pick = (...values: string[]) => fc.constantFrom(...values)
const word = pick(
  ...[
    "a",
    "b-c",
    "/x/*",
    "x:y",
    "1",
    "0",
    "010",
    "1.5",
    "true",
    "True",
    "null",
    '"q r"',
    "'s'",
    "'it''s'",
    "a, b",
    "a b",
  ],
  ...[
    "[a, b]",
    "[]",
    "[ 1 ]",
    '["a", b]',
    "[a",
    "{a: b}",
    "*",
    "&a",
    "- a",
    "a: b",
    "a:",
    "x #y",
    "10.0.0.0/8",
    "2026-01-01",
  ],
)
const entry = fc
  .tuple(pick("a", "b", "c.d/e", "f-g", "true", "1"), pick(":", ": ", ":  "), fc.option(word))
  .map(([key, colon, value]) => `${key}${colon}${value ?? ""}`)
const line = fc
  .tuple(
    fc.nat(5),
    fc.oneof(
      entry,
      entry,
      entry.map(one => `- ${one}`),
      word.map(one => `- ${one}`),
      pick("-", "# c", "", "---", "-   a: b"),
    ),
  )
  .map(([indent, text]) => (text === "---" ? text : `${" ".repeat(indent)}${text}`))

it("reads every text like the library, or not at all", () => {
  let read = 0
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), lines => {
      const text = lines.join("\n")
      const values = plainly(text)
      if (values === undefined) return
      read++
      expect(parseYamlSlowly(text).map(({ value, errors }) => ({ value, errors }))).toEqual(
        (values as readonly unknown[]).map(value => ({ value, errors: [] })), // a list, as it is not undefined
      )
    }),
    { numRuns: 6_000 * inject("effort") },
  )
  expect(read).toBeGreaterThan(100)
})
