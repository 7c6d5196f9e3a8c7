// SPDX-License-Identifier: Apache-2.0
// The page of faults is what the packages' tables say, and the tables are closed: every package has one, every code in it
// is given somewhere, and each says what it means and what to do.

import { FAULTS, type FaultTable, FINDINGS, faultAdvice, TOKEN_FAULTS, WARNINGS } from "@merlon/policy"
import { describe, expect, it } from "vitest"
import { FAULTS_PAGE, faultsPage, SECTIONS } from "../../scripts/generate/faults-page.js"
import { files, readText, sourceFiles } from "../architecture/tree.js"

it("the page is up to date (`npm run generate`)", () => {
  expect(readText(FAULTS_PAGE)).toBe(faultsPage())
})

it("every package with an errors.ts has a section, and every section one", () => {
  const packages = files("packages/*/src/errors.ts").map(path => String(path.split("/")[1]))
  expect(packages.sort()).toEqual(Object.keys(SECTIONS).sort())
})

describe.each<readonly [string, FaultTable]>([
  ...Object.entries(SECTIONS).map(([name, { faults }]) => [name, faults] as const),
  ["faults of documents", FAULTS],
  ["warnings of documents", WARNINGS],
  ["findings about sets of policies", FINDINGS],
])("the table of %s", (_, faults) => {
  it.each(Object.entries(faults))("says what %s means and what to do", (_, { means, next }) => {
    for (const text of [means, next]) {
      expect(text).toMatch(/^[a-z`]/)
      expect(text).not.toMatch(/\.$|\|/)
    }
  })
})

it.each(TOKEN_FAULTS)("says what to do about the token fault %s", fault => {
  expect(faultAdvice(fault)).toMatch(/^[a-z].*[^.|]$/)
})

describe.each(Object.entries(SECTIONS))("the table of %s", (name, { faults }) => {
  it("has no code that nothing gives", () => {
    const sources = sourceFiles()
      .filter(path => path.startsWith(`packages/${name}/src/`) && !/\.test\.ts$|\/src\/errors\.ts$/.test(path))
      .map(readText)
      .join("\n")
    // As a text, as a property of the table, or, of exit codes, as the number that a name stands for.
    const given = (code: string): boolean => new RegExp(`"${code}"|_FAULTS\\.${code}\\b|: ${code},`).test(sources)
    expect(Object.keys(faults).filter(code => !given(code))).toEqual([])
  })
})
