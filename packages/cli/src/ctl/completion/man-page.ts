// SPDX-License-Identifier: Apache-2.0
// A man page from the definitions of the commands: every command with its arguments and flags. See man(7) for the macros.

import type { Argument, Command, Option } from "commander"
import { EXIT_CODES } from "../../errors.js"

/** The man page of a program, in section 1. */
export function manPage(program: Command): string {
  const name = program.name()
  return `${[
    `.TH ${name.toUpperCase()} 1 "" Merlon "User Commands"`,
    ".SH NAME",
    `${text(name)} \\- ${text(lowerFirst(program.description()))}`,
    ".SH SYNOPSIS",
    `.B ${text(name)}`,
    `\\fIcommand\\fR [\\fIoptions\\fR]`,
    ".SH OPTIONS",
    ...optionsOf(program).flatMap(optionLines),
    ".SH COMMANDS",
    ...program.commands.flatMap(command => commandLines(command, name)),
    ...(name === "merlonctl" ? exitLines() : []),
    ".SH SEE ALSO",
    name === "merlonctl" ? ".BR merlond (1)" : ".BR merlonctl (1)",
  ].join("\n")}\n`
}

function commandLines(command: Command, before: string): readonly string[] {
  const path = `${before} ${command.name()}`
  const args = command.registeredArguments
  return [
    `.SS ${quoted(`${path} ${command.usage()}`)}`,
    text(`${command.description()}.`),
    ...args.flatMap(argumentLines),
    ...optionsOf(command).flatMap(optionLines),
    ...command.commands.flatMap(child => commandLines(child, path)),
  ]
}

function argumentLines(argument: Argument): readonly string[] {
  return tagged(`\\fI${text(argument.name())}\\fR`, argument.description, argument.argChoices)
}

function optionLines({ flags, description, argChoices, defaultValueDescription }: Option): readonly string[] {
  const isSaid = defaultValueDescription === undefined || description.includes("(default")
  const summary = isSaid ? description : `${description} (default: ${defaultValueDescription})`
  const tag = flags.replaceAll(/(-[\w-]+)|([<[][^>\]]+[>\]])/g, (_, flag?: string, value?: string) =>
    flag === undefined ? `\\fI${text((value ?? "").slice(1, -1))}\\fR` : `\\fB${text(flag)}\\fR`,
  )
  return tagged(tag, summary, argChoices)
}

function tagged(tag: string, summary: string, choices: readonly string[] = []): readonly string[] {
  return [".TP", tag, text(choices.length === 0 ? summary : `${summary}; one of ${choices.join(", ")}`)]
}

function exitLines(): readonly string[] {
  const codes = Object.entries(EXIT_CODES).flatMap(([code, { cause }]) => [".TP", `.B ${code}`, text(cause)])
  return [".SH EXIT STATUS", ".TP", ".B 0", "success", ...codes]
}

function optionsOf(command: Command): readonly Option[] {
  return command.options.filter(({ hidden }) => !hidden)
}

function lowerFirst(sentence: string): string {
  return sentence.slice(0, 1).toLowerCase() + sentence.slice(1)
}

/** Characters that roff would interpret are escaped, and a line never begins with a request. */
function text(plain: string): string {
  const escaped = plain
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("\n", " ")
    .replaceAll(/[^ -~]/gu, one => `\\[u${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`)
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped
}

function quoted(plain: string): string {
  return `"${text(plain).replaceAll('"', "\\(dq")}"`
}
