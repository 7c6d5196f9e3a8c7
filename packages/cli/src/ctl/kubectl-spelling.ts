// SPDX-License-Identifier: Apache-2.0
// kubectl takes `--wait=false` and `--ignore-not-found=true`; whoever has that in a script or in the fingers is
// understood here too.

import type { Command } from "commander"

const SWITCH = /^--([a-z][a-z-]*)=(true|false)$/

/** Arguments with such switches written as ours. */
export function kubectlSpelling(program: Command, args: readonly string[]): readonly string[] {
  const command = commandFor(program, args)
  return args.flatMap(argument => {
    const [, name = "", value] = SWITCH.exec(argument) ?? []
    const on = command.options.find(({ long }) => long === `--${name}`)
    const off = command.options.find(({ long }) => long === `--no-${name}`)
    if (on?.negate === true) return value === "true" ? [`--${name}`] : []
    if (on?.isBoolean() !== true && off === undefined) return [argument]
    if (value === "true") return on === undefined ? [] : [`--${name}`]
    return off === undefined ? [] : [`--no-${name}`]
  })
}

function commandFor(program: Command, args: readonly string[]): Command {
  let command = program
  for (const argument of args) {
    const next = command.commands.find(child => child.name() === argument)
    if (next === undefined) break
    command = next
  }
  return command
}
