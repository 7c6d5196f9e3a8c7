// SPDX-License-Identifier: Apache-2.0
// ARCHITECTURE.md shows newcomers where to find things. Every file and symbol in its table must exist.

import { existsSync } from "node:fs"
import { expect, it } from "vitest"
import { readText } from "./tree.js"

const [, table = ""] = /## Where is…\n\n(.*?)\n\n## /s.exec(readText("ARCHITECTURE.md")) ?? []
const rows = table
  .split("\n")
  .slice(2)
  .map(line => line.split("|").map(cell => cell.trim()))
  .map(([, question = "", files = "", start = ""]) => ({
    question,
    files: quoted(files),
    start: quoted(start)[0] ?? "",
  }))

function quoted(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text)
}

it("has rows for common questions of newcomers", () => {
  expect(rows.map(({ question }) => question).join("\n")).toMatch(/denied.*put into effect.*signed/s)
})

it.each(rows)("$question", ({ files, start }) => {
  expect(files.length).toBeGreaterThan(0)
  for (const file of files) expect(existsSync(file), file).toBe(true)
  if (start === "") return
  const text = readText(files[0] ?? "")
  const [name = "", method] = start.split(".")
  expect(text).toMatch(new RegExp(`^export (async )?(function|class|const) ${name}\\b`, "m"))
  if (method !== undefined) expect(text).toMatch(new RegExp(`^  (async )?${method}\\(`, "m"))
})
