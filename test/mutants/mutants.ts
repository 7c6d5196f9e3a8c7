// SPDX-License-Identifier: Apache-2.0
// The lines that decide access, each with a change that breaks it and the tests that must fail then. `npm run
// test:mutants` applies them; THREAT_MODEL.md lists them.

import { readFileSync } from "node:fs"

export interface Mutant {
  /** The guarantee that the line implements. */
  readonly what: string
  readonly file: string
  /** Text that occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
  readonly tests: readonly string[]
}

export const mutants: readonly Mutant[] = JSON.parse(readFileSync("test/mutants/mutants.json", "utf8"))

/** Returns the source with the line broken; undefined unless `find` occurs exactly once. */
export function applied({ find, replace }: Mutant, source: string): string | undefined {
  const [before, after, ...more] = source.split(find)
  return before === undefined || after === undefined || more.length > 0 ? undefined : `${before}${replace}${after}`
}

/** Returns the table in THREAT_MODEL.md. */
export function mutantsTable(): string {
  const rows = mutants.map(({ what, file, tests }) => {
    const shown = tests.map(test => `\`${short(test)}\``).join(", ")
    return `| ${what} | \`${short(file)}\` | ${shown} |`
  })
  return `${["| what holds | where | test |", "|---|---|---|", ...rows].join("\n")}\n`
}

const short = (path: string): string => path.replace(/^packages\//, "").replace("/src/", "/")
