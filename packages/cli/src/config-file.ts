// SPDX-License-Identifier: Apache-2.0
// A configuration file has the same settings as the flags, under the same names in camel case. A flag overrides the
// environment, the environment the file, and the file the default.

import { nearest } from "@merlon/policy/shape"
import { messageOf, readUtf8File } from "@merlon/xds/runtime"
import { type Command, InvalidArgumentError, type Option } from "commander"
import { parse } from "yaml"

const MAX_BYTES = 1_048_576

export function applyConfigFile(command: Command, path: string, except: readonly string[] = ["config"]): void {
  const options = new Map(command.options.map(option => [option.attributeName(), option]))
  for (const name of except) options.delete(name)
  for (const [name, value] of Object.entries(readMapping(path))) {
    const option = options.get(name)
    if (option === undefined) {
      const meant = nearest(name, [...options.keys()])
      const hint = meant === undefined ? "`--help` lists what there is" : `did you mean \`${meant}\`?`
      throw new Error(`${path}: unknown field \`${name}\`; ${hint}`)
    }
    const source = command.getOptionValueSource(name)
    if (source === "cli" || source === "env") continue
    command.setOptionValueWithSource(name, valueFor(option, value, path), "config")
  }
}

function readMapping(path: string): object {
  let text: string
  try {
    text = readUtf8File(path)
  } catch (error) {
    throw new Error(`cannot read \`${path}\`: ${messageOf(error)}`)
  }
  if (text.length > MAX_BYTES) throw new Error(`${path}: a configuration has at most ${MAX_BYTES} characters`)
  let value: unknown
  try {
    value = parse(text) ?? {}
  } catch (error) {
    throw new Error(`${path}: ${messageOf(error)}`)
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${path}: must be a mapping`)
  return value
}

// Values go through the flag's own parser, so that file and flag reject the same values.
function valueFor(option: Option, value: unknown, path: string): unknown {
  const name = option.attributeName()
  if (option.isBoolean() || option.negate) {
    if (typeof value !== "boolean") throw new Error(`${path}: ${name}: must be true or false`)
    return value
  }
  if (Array.isArray(value)) {
    const isList = Array.isArray(option.defaultValue)
    if (!isList) throw new Error(`${path}: ${name}: must be one value, not a list`)
    return value.reduce<unknown>((before, item) => read(option, item, before, path), [])
  }
  return read(option, value, Array.isArray(option.defaultValue) ? [] : undefined, path)
}

function read(option: Option, value: unknown, before: unknown, path: string): unknown {
  const name = option.attributeName()
  if (typeof value !== "string" && typeof value !== "number") {
    throw new Error(`${path}: ${name}: must be a text or a number`)
  }
  if (option.parseArg === undefined) return String(value)
  try {
    return option.parseArg(String(value), before)
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    throw new Error(`${path}: ${name}: ${error.message}; it is \`${value}\``)
  }
}
