// SPDX-License-Identifier: Apache-2.0
// Values of an installation from the command line: files and single assignments, as with Helm, in this order.

import { assignments, type InstallValues, readValues } from "@merlon/control/install"
import { messageOf } from "@merlon/xds/runtime"
import type { Command } from "commander"
import { parse } from "yaml"
import { several } from "../../arguments.js"
import { VERSION } from "../../version.js"
import { CommandError } from "../exit.js"
import { readText } from "../read-text.js"

export interface ValuesFlags {
  readonly values: readonly string[]
  readonly set: readonly string[]
  readonly mesh: string
  readonly domain: string
}

export function withValuesFlags(command: Command): Command {
  return command
    .option("-f, --values <file>", "YAML with values (repeatable)", several, [])
    .option("--set <path=value>", "values, as replicas=3 or replicas=3,logLevel=debug (repeatable)", several, [])
}

/** The given values as separate parts, so that they can be stored and applied again. */
export async function givenValues({ values, set, mesh, domain }: ValuesFlags): Promise<readonly unknown[]> {
  try {
    const files = await Promise.all(values.map(async file => parse(await readText(file)) ?? {}))
    return [{ mesh, domain }, ...files, ...set.flatMap(text => assignments(text, parse))]
  } catch (error) {
    throw new CommandError("unreadable-file", messageOf(error))
  }
}

export function valuesOf(given: readonly unknown[]): InstallValues {
  try {
    return readValues(VERSION, ...given)
  } catch (error) {
    throw new CommandError("unreadable-file", messageOf(error))
  }
}
