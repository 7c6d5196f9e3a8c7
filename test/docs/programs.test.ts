// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { meshNames, readDocuments } from "@merlon/policy"
import { readConfigurationFile } from "@merlon/xserver"
import { expect, it } from "vitest"
import { files, readText } from "../architecture/tree.js"
import { blocks } from "./blocks.js"

// Inside the repository, so that a program finds our packages as it would from a package of its own.
const scratch = (): string => mkdtempSync("test/docs/.program-")

function run(program: string): string {
  const folder = scratch()
  try {
    const file = join(folder, "program.ts")
    writeFileSync(file, program)
    return execFileSync("node", ["node_modules/tsx/dist/cli.mjs", file], { encoding: "utf8" })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Commands that are the set-up itself: whoever runs this test has just typed them. */
const SET_UP = new Set(["npm ci && npm test\n"])

const all = files("*.md").flatMap(path => {
  const found = blocks(readText(path))
  return found.map((block, index) => ({ ...block, where: `${path}:${block.line}`, next: found[index + 1] }))
})
const of = (language: string) => all.filter(block => block.language === language)

it.each(of("ts"))("the program at $where prints what the page says", ({ text, next }) => {
  expect(next?.language, "a program is followed by what it prints").toBe("text")
  expect(run(text)).toBe(next?.text)
})

it.each(of("sh"))("the command at $where is one that is run", ({ text }) => {
  expect(SET_UP).toContain(text)
})

it.each(of("yaml"))("the document at $where is valid", ({ text }) => {
  const read = readDocuments(text, meshNames())
  expect(read.length).toBeGreaterThan(0)
  expect(read.flatMap(({ faults }) => faults.map(({ message }) => message))).toEqual([])
})

it.each(of("yml"))("the configuration of xserver at $where is read", ({ text }) => {
  const folder = scratch()
  try {
    const file = join(folder, "config.yaml")
    writeFileSync(file, text)
    expect(readConfigurationFile(file, 1).configuration.ports.length).toBeGreaterThan(0)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
