// SPDX-License-Identifier: Apache-2.0
import { execFileSync, spawnSync } from "node:child_process"
import type { Command } from "commander"
import { beforeAll, describe, expect, it } from "vitest"
import { merlondProgram } from "../../merlond-program.js"
import { programFor } from "../program.js"
import { type ShellFile, shellFiles } from "./shell-files.js"

let files: readonly ShellFile[]
beforeAll(async () => {
  files = await shellFiles()
})

const file = (end: string): string => files.find(({ path }) => path.endsWith(end))?.text ?? ""

/** The text of a page as readers see it, on one line. */
function rendered(page: string): string {
  const { stdout, stderr } = spawnSync("groff", ["-man", "-ww", "-Tutf8", "-P-c", "-rLL=200n"], {
    input: page,
    encoding: "utf8",
  })
  expect(stderr).toBe("")
  // Bold and italics are overstrikes: a character, a backspace and the character again.
  return stdout.replaceAll(/.[\b]/g, "").replaceAll("‐", "-").replaceAll("−", "-").replaceAll(/\s+/g, " ")
}

function commandsOf(command: Command, before = ""): readonly { readonly path: string; readonly command: Command }[] {
  const path = `${before}${command.name()}`
  return [{ path, command }, ...command.commands.flatMap(child => commandsOf(child, `${path} `))]
}

describe.each([
  ["merlonctl.1", () => programFor("*")],
  ["merlond.1", () => merlondProgram("*")],
])("%s", { tags: ["needs/groff"] }, (name, load) => {
  it("renders without warnings and shows every command and flag", async () => {
    const page = rendered(file(name))
    for (const { path, command } of commandsOf(await load())) {
      expect(page).toContain(path)
      for (const { long, hidden } of command.options) if (!hidden) expect(page).toContain(long)
    }
  })
})

it("describes the exit codes", () => {
  expect(file("merlonctl.1")).toMatch(/\.SH EXIT STATUS[\s\S]*\.B 5\n/)
})

it("has a completion that bash can read", { tags: ["needs/bash"] }, () => {
  execFileSync("bash", ["-n"], { input: file("bash-completion/completions/merlonctl") })
})

it("has completions under the names that zsh and fish look for", () => {
  expect(file("/_merlonctl")).toMatch(/^#compdef merlonctl\n/)
  expect(file("/merlonctl.fish")).toContain("complete -c merlonctl")
})
