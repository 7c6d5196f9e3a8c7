// SPDX-License-Identifier: Apache-2.0
// Boolean switches from the environment. commander treats any value as true, but `false` has to mean off.

import type { Command } from "commander"

const ON: ReadonlySet<string> = new Set(["1", "true", "yes", "on"])
const OFF: ReadonlySet<string> = new Set(["", "0", "false", "no", "off"])

/** To be called after the command line is parsed. Throws if a value is neither true nor false. */
export function readEnvSwitches(command: Command, env: { readonly [name: string]: string | undefined }): void {
  for (const option of command.options) {
    const { envVar } = option
    const name = option.attributeName()
    if (envVar === undefined || !option.isBoolean() || command.getOptionValueSource(name) !== "env") continue
    const text = (env[envVar] ?? "").trim().toLowerCase()
    if (!ON.has(text) && !OFF.has(text)) throw new Error(`${envVar} must be true or false; it is \`${env[envVar]}\``)
    command.setOptionValueWithSource(name, ON.has(text), "env")
  }
}
