// SPDX-License-Identifier: Apache-2.0
import { execFileSync, spawn } from "node:child_process"
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

/** The commands of a page one after the other in one shell, as a reader types them; the first that fails ends it. */
function runPage(commands: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise(resolve => {
    const shell = spawn("bash", ["-m", "-e", "-c", commands.join("\n")], { stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [shell.stdout, shell.stderr]) {
      stream.on("data", chunk => {
        output += chunk
      })
    }
    shell.on("close", code => resolve({ code, output }))
  })
}

const all = files("*.md").flatMap(path => {
  const found = blocks(readText(path))
  return found.map((block, index) => ({ ...block, path, where: `${path}:${block.line}`, next: found[index + 1] }))
})
const of = (language: string) => all.filter(block => block.language === language)

it.each(of("ts"))("the program at $where prints what the page says", ({ text, next }) => {
  expect(next?.language, "a program is followed by what it prints").toBe("text")
  expect(run(text)).toBe(next?.text)
})

it.each([...pagesWithCommands()])("the commands of %s do what the page says", async (_, commands) => {
  const { code, output } = await runPage(commands)
  expect(code, output).toBe(0)
})

function pagesWithCommands(): ReadonlyMap<string, readonly string[]> {
  const pages = new Map<string, string[]>()
  for (const { path, text } of of("sh")) {
    if (SET_UP.has(text)) continue
    pages.set(path, [...(pages.get(path) ?? []), text])
  }
  return pages
}

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
