// SPDX-License-Identifier: Apache-2.0
// The error catalogue is complete: every package with an errors.ts has a section, every code in a table is raised by
// its package, codes are unique, and the page is up to date. The compiler checks that every raised code is in a table,
// because errors take a key of their table.

import type { ErrorTable } from "@merlon/policy"
import { describe, expect, it } from "vitest"
import { ERRORS_PAGE, errorsPage, SECTIONS } from "../../scripts/generate/errors-page.js"
import { files, readText, sourceFiles } from "../architecture/tree.js"

it("the page is up to date (`npm run generate`)", () => {
  expect(readText(ERRORS_PAGE)).toBe(errorsPage())
})

it("every package with an errors.ts has a section", () => {
  const packages = files("packages/*/src/errors.ts").map(path => String(path.split("/")[1]))
  expect(packages.sort()).toEqual([...new Set(SECTIONS.flatMap(({ from }) => from ?? []))].sort())
})

it("every code is unique, also as an anchor", () => {
  const codes = SECTIONS.flatMap(({ errors }) => Object.keys(errors)).map(code => code.toLowerCase())
  expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([])
})

it("every `[code]` that a message links to has a heading", () => {
  const page = readText(ERRORS_PAGE)
  for (const { errors } of SECTIONS)
    for (const code of Object.keys(errors)) expect(page).toContain(`\n#### \`${code}\`\n`)
})

describe.each(SECTIONS.map(({ title, errors }): readonly [string, ErrorTable] => [title, errors]))(
  "%s",
  (_, errors) => {
    it.each(Object.entries(errors))("%s has a cause and a fix", (_, { cause, fix }) => {
      expect(cause).toMatch(/^[a-zA-Z`].*[^.|]$/)
      expect(fix).toMatch(/^[a-z`][^|]*[^.|]$/)
    })
  },
)

describe.each(SECTIONS.flatMap(({ from, title, errors }) => (from === undefined ? [] : [{ from, title, errors }])))(
  "$title",
  ({ from, errors }) => {
    it("has no code that is never raised", () => {
      const sources = sourceFiles()
        .filter(path => path.startsWith(`packages/${from}/src/`) && !/\.test\.ts$|\/src\/errors\.ts$/.test(path))
        .map(readText)
        .join("\n")
      const isRaised = (code: string): boolean => new RegExp(`"${code}"|_ERRORS\\.${code}\\b`).test(sources)
      expect(Object.keys(errors).filter(code => !isRaised(code))).toEqual([])
    })
  },
)
