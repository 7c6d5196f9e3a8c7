// SPDX-License-Identifier: Apache-2.0
// The command line of merlonctl: finds the command, parses its flags, and turns any failure into one sentence and an exit
// code.

import { Command, CommanderError } from "commander"
import { describeError } from "../describe-error.js"
import { VERSION } from "../version.js"
import { COMMANDS } from "./command-table.js"
import { CommandError, EXIT } from "./exit.js"
import { kubectlSpelling } from "./kubectl-spelling.js"
import { paintError, printError } from "./terminal.js"

/** Sets the process's exit code and never throws. `name` is what users type. */
export async function runProgram(argv: readonly string[], name = "merlonctl"): Promise<void> {
  try {
    const [first = "", second = ""] = argv
    const program = await programFor(first === "help" ? second : first, name)
    await program.parseAsync([...kubectlSpelling(program, argv)], { from: "user" })
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed the error or the requested help.
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
      return
    }
    const [code, exitCode] =
      error instanceof CommandError ? [error.code, error.exitCode] : (["unexpected", EXIT.failed] as const)
    printError(`${paintError.red(`error[${code}]:`)} ${describeError(error)}`)
    process.exitCode = exitCode
  }
}

/** The program with the requested command in full and the others by name. */
export async function programFor(asked: string, name = "merlonctl"): Promise<Command> {
  const program = new Command(name)
    .description("Manage mesh security policies: apply, test, compare and explain them")
    .version(VERSION, "-V, --version", "Show the version")
    .showHelpAfterError(`(see \`${name} --help\`)`)
    .addHelpText("after", NOTES)
  for (const [word, { summary, load }] of Object.entries(COMMANDS)) {
    program.addCommand(
      word === asked || asked === "*" ? await load(() => programFor("*")) : new Command(word).description(summary),
    )
  }
  eachCommand(program, command => {
    command.exitOverride()
    if (command !== program) command.showHelpAfterError(`(see \`${pathOf(command)} --help\`)`)
    command.configureOutput({
      // Examples use the name of the program that the user typed.
      writeOut: text => process.stdout.write(text.replaceAll("merlonctl", name)),
      outputError: (text, write) => write(text.replace(/^error:/, paintError.red("error[usage]:"))),
    })
  })
  return program
}

function eachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command)
  for (const child of command.commands) eachCommand(child, visit)
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

const NOTES = `
Exit codes: 0 success, 1 rejected, not found or invalid, 2 invalid command line, 3 no response from the cluster,
4 not decided or not everything was read, 5 changes, broken invariants or findings.
Error codes, as in \`error[no-mesh]\`, are explained in docs/reference/errors.md.
merlonctl uses the cluster in --kubeconfig, else KUBECONFIG, else the local mesh in MERLON_DATA or this folder, else
~/.kube/config.`
