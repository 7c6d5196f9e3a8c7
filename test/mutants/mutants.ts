// SPDX-License-Identifier: Apache-2.0
// The lines that decide access, each with a way to break it and the tests that must notice. `npm run test:mutants` tries
// them; THREAT_MODEL.md lists them.

import { readFileSync } from "node:fs"

export interface Mutant {
  /** What holds as long as the line does. */
  readonly what: string
  readonly file: string
  /** Text that stands exactly once in the file. */
  readonly find: string
  readonly replace: string
  readonly tests: readonly string[]
}

export const mutants: readonly Mutant[] = JSON.parse(readFileSync("test/mutants/mutants.json", "utf8"))

/** The source with the line broken; undefined where its text is not there exactly once. */
export function applied({ find, replace }: Mutant, source: string): string | undefined {
  const [before, after, ...more] = source.split(find)
  return before === undefined || after === undefined || more.length > 0 ? undefined : `${before}${replace}${after}`
}

/** As THREAT_MODEL.md has it. */
export function mutantsTable(): string {
  const rows = mutants.map(({ what, file, tests }) => {
    const shown = tests.map(test => `\`${short(test)}\``).join(", ")
    return `| ${what} | \`${short(file)}\` | ${shown} |`
  })
  return `${["| what holds | where | test |", "|---|---|---|", ...rows].join("\n")}\n`
}

const short = (path: string): string => path.replace(/^packages\//, "").replace("/src/", "/")
