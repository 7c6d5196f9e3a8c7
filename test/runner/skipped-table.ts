// SPDX-License-Identifier: Apache-2.0
// The table of missing programs at the end of a test run: how many tests were skipped for each, and what provides it.

import type { Reporter, TestModule } from "vitest/node"
import { isMissing, providerOf } from "./programs.js"

const NEEDS = "needs/"

export default class SkippedTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tags = modules.flatMap(module => [...module.children.allTests("skipped")].map(({ tags }) => tags))
    const table = skippedTable(tags.map(each => each.filter(isMissing)))
    if (table !== "") console.log(`\n${table}\n`)
  }
}

/** Takes the missing programs of each skipped test, as tags. Returns an empty text if no test was skipped. */
export function skippedTable(skipped: readonly (readonly string[])[]): string {
  const counts = new Map<string, number>()
  for (const tag of skipped.flat()) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  if (counts.size === 0) return ""
  const rows = [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([tag, count]) => [tag.slice(NEEDS.length), String(count), providerOf(tag)])
  const all = [["MISSING", "SKIPPED TESTS", "INSTALL WITH"], ...rows]
  const widths = [0, 1].map(column => Math.max(...all.map(row => row[column]?.length ?? 0)))
  return all.map(row => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n")
}
