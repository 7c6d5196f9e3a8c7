// SPDX-License-Identifier: Apache-2.0
// Runs the policy tests in docs/semantics.md and other pages as they are written there.

import { meshConfig, readTests, runTests, validate } from "@merlon/policy"
import { describe, expect, it } from "vitest"
import { blocks } from "../../scripts/markdown-blocks.js"
import { files, readText, sourceFiles } from "../architecture/tree.js"

const mesh = meshConfig()
const NOW = 1_790_000_000

const stated = files("*.md").flatMap(path =>
  blocks(readText(path))
    .filter(({ language }) => language === "policy-test")
    .map(({ text, line }) => ({ where: `${path}:${line}`, text })),
)

describe.each(stated)("the policy test at $where", ({ text }) => {
  const { files: tests, errors } = readTests(text)

  it("can be read", () => {
    expect(errors.map(({ message }) => message)).toEqual([])
    expect(tests).toHaveLength(1)
  })

  const cases = tests.flatMap(test => {
    const read = test.documents.map(document => validate(document, mesh.names))
    const invalid = read.flatMap(({ errors }) => errors.map(({ message }) => message))
    if (invalid.length > 0) throw new Error(invalid.join("\n"))
    const documents = read.flatMap(({ document }) => document ?? [])
    const { results, coverage } = runTests(test, documents, mesh, NOW)
    return [
      ...results.map(({ test: { name }, differences }) => ({ name, differences })),
      ...coverage
        .filter(({ matched }) => matched === 0)
        .map(({ rule }) => ({ name: `no case meets ${rule.id}`, differences: ["add one"] })),
    ]
  })
  it.each(cases)("$name", ({ differences }) => {
    expect(differences).toEqual([])
  })
})

it("pages have several policy tests", () => {
  expect(stated.length).toBeGreaterThanOrEqual(3)
})

it("docs/semantics.md has every heading that a comment cites", () => {
  const headings = new Set([...readText("docs/semantics.md").matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading))
  const cited = sourceFiles().flatMap(path =>
    [...readText(path).matchAll(/docs\/semantics\.md, "([^"]+)"/g)].map(([, heading]) => ({ path, heading })),
  )
  expect(cited.length).toBeGreaterThan(1)
  expect(cited.filter(({ heading }) => !headings.has(heading ?? ""))).toEqual([])
})

it("comments cite docs/semantics.md by heading, not by number", () => {
  const numbers = /\b(semantics [0-9]|choice [0-9]|semantics (row|section) [0-9])/i
  const vague = sourceFiles().filter(
    path => path !== "test/docs/semantics.test.ts" && numbers.test(readText(path)) && !path.includes("generated"),
  )
  expect(vague).toEqual([])
})
