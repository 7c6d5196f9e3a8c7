// SPDX-License-Identifier: Apache-2.0
// Accepts kubectl's spelling `--wait=false` and `--ignore-not-found=true`, because scripts and users are used to it.

import type { Command } from "commander"

const SWITCH = /^--([a-z][a-z-]*)=(true|false)$/

/** Arguments with such switches in our spelling. */
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
