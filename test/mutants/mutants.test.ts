// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs"
import { expect, it } from "vitest"
import { readText } from "../architecture/tree.js"
import { applied, mutants, mutantsTable } from "./mutants.js"

it("has a line to break, and tests, for every mutant", () => {
  const stale = mutants.filter(
    mutant =>
      !existsSync(mutant.file) || applied(mutant, readText(mutant.file)) === undefined || mutant.tests.length === 0,
  )
  expect(stale.map(({ file, find }) => `${file}: ${find}`)).toEqual([])
  expect(mutants.flatMap(({ tests }) => tests.filter(test => !existsSync(test)))).toEqual([])
})

it("matches the table in THREAT_MODEL.md, which `tsx scripts/mutants.ts --table` prints", () => {
  expect(readText("THREAT_MODEL.md")).toContain(mutantsTable())
})
