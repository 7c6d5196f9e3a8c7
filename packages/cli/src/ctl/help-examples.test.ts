// SPDX-License-Identifier: Apache-2.0
// Every command's help shows how it is used, with flags and subcommands that exist.

import { shellWords } from "@merlon/policy/trial"
import type { Command } from "commander"
import { expect, test } from "vitest"
import { COMMANDS } from "./command-table.js"
import { programFor } from "./program.js"

function helpOf(command: Command): string {
  let text = ""
  command.configureOutput({ writeOut: more => (text += more), getOutHasColors: () => false })
  command.outputHelp()
  return text
}

const examplesIn = (help: string): readonly string[] =>
  help.split("\n").flatMap(line => (/^ {2}merlonctl /.test(line) ? [line.trim()] : []))

const loaded = await Promise.all(
  Object.entries(COMMANDS).map(async ([name, { load }]) => [name, await load(() => programFor("*"))] as const),
)

const commands = new Map(loaded)
const examplesOf = (command: Command): readonly string[] =>
  [command, ...command.commands].flatMap(one => examplesIn(helpOf(one)))

test.each(loaded)("the help of `%s` has examples", (_, command) => {
  expect(examplesOf(command).length).toBeGreaterThan(0)
})

test.each([...new Set(loaded.flatMap(([, command]) => examplesOf(command)))])("%s", example => {
  const [, name = "", ...words] = shellWords(example.replace(/ [|>].*$/, ""))
  const command = commands.get(name)
  expect(command).toBeDefined()
  const own = command?.commands.find(sub => sub.name() === words[0])
  const options = [...(command?.options ?? []), ...(own?.options ?? [])]
  const known = new Set(options.flatMap(({ short, long }) => [short, long]))
  for (const word of words) {
    if (word === "--") break
    const [, flag] = /^(--?[A-Za-z][\w-]*)/.exec(word) ?? []
    if (flag !== undefined) expect(known).toContain(flag)
  }
})
