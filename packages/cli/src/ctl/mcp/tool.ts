// SPDX-License-Identifier: Apache-2.0
// A query as a tool of the Model Context Protocol: the JSON Schema of its arguments, and the resulting command line.
// Values never become flags: an option and its value are one word, and positional arguments come after `--`.

interface Common {
  readonly description: string
  readonly required?: boolean
  /** The option that takes the value. Absent for a positional argument. */
  readonly flag?: string
}

/** One argument. A `path` names a file or folder on this machine, or `REVISION:PATH` in git. */
export type ToolArgument = Common &
  (
    | { readonly type: "text" | "path"; readonly choices?: readonly string[] }
    | { readonly type: "texts" | "paths" }
    | { readonly type: "number"; readonly minimum: number; readonly maximum: number; readonly unit?: string }
    | { readonly type: "switch" }
  )

export interface Tool {
  /** The name of the command. */
  readonly name: string
  readonly description: string
  /** The words of the command. */
  readonly command: readonly string[]
  readonly formats: Readonly<Record<string, readonly string[]>>
  readonly arguments: Readonly<Record<string, ToolArgument>>
}

/** The tool's entry in `tools/list`. */
export function listedTool({ name, description, formats, arguments: args }: Tool): object {
  const properties = Object.entries(args).map(([key, argument]) => [key, schemaOf(argument)])
  const format = {
    type: "string",
    enum: Object.keys(formats),
    default: "json",
    description: "`json` for programs, or a text for people",
  }
  return {
    name,
    description,
    inputSchema: {
      type: "object",
      properties: { ...Object.fromEntries(properties), format },
      required: Object.entries(args).flatMap(([key, { required }]) => (required === true ? [key] : [])),
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  }
}

function schemaOf(argument: ToolArgument): object {
  const { description } = argument
  switch (argument.type) {
    case "text":
    case "path":
      return { type: "string", minLength: 1, description, ...(argument.choices && { enum: argument.choices }) }
    case "texts":
    case "paths":
      return { type: "array", items: { type: "string", minLength: 1 }, description }
    case "number":
      return { type: "integer", minimum: argument.minimum, maximum: argument.maximum, description }
    case "switch":
      return { type: "boolean", description }
  }
}

export type CommandLine = { readonly words: readonly string[] } | { readonly error: string }

/** The command line, or the error in the arguments. */
export function commandLine(tool: Tool, given: unknown): CommandLine {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return { error: "arguments must be an object" }
  const entries = Object.entries(given)
  const known = [...Object.keys(tool.arguments), "format"]
  const unknown = entries.find(([name]) => !known.includes(name))
  if (unknown !== undefined)
    return { error: `\`${tool.name}\` has no argument \`${unknown[0]}\`; it takes ${known.join(", ")}` }
  const values = new Map<string, unknown>(entries)
  const options: string[] = []
  const positional: string[] = []
  for (const [name, argument] of Object.entries(tool.arguments)) {
    const value = values.get(name)
    if (value === undefined && argument.required !== true) continue
    const words = wordsOf(value, argument)
    if (typeof words === "string") return { error: `\`${name}\` must be ${words}` }
    if (argument.flag === undefined) positional.push(...words)
    else if (argument.type === "switch") options.push(...words.map(() => argument.flag ?? ""))
    else options.push(...words.map(word => `${argument.flag}=${word}`))
  }
  const format = values.get("format") ?? "json"
  const chosen = typeof format === "string" && Object.hasOwn(tool.formats, format) ? tool.formats[format] : undefined
  if (chosen === undefined) return { error: `\`format\` must be one of ${Object.keys(tool.formats).join(", ")}` }
  return { words: [...tool.command, ...chosen, ...options, "--", ...positional] }
}

/** The values as words, or a text that says what they must be. */
function wordsOf(value: unknown, argument: ToolArgument): readonly string[] | string {
  switch (argument.type) {
    case "text":
    case "path":
      return isWord(value, argument) ? [value] : wantedOf(argument)
    case "texts":
    case "paths": {
      if (!Array.isArray(value) || value.length > MOST_VALUES) return `a list of at most ${MOST_VALUES} strings`
      const words = value.filter((one): one is string => isWord(one, argument))
      if (words.length < value.length) return `a list, each item ${wantedOf(argument)}`
      return argument.required === true && words.length === 0 ? "a list with at least one item" : words
    }
    case "number": {
      const { minimum, maximum, unit = "" } = argument
      const isRight = Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum
      return isRight ? [`${String(value)}${unit}`] : `a whole number from ${minimum} to ${maximum}`
    }
    case "switch":
      return typeof value === "boolean" ? (value ? [""] : []) : "true or false"
  }
}

const MOST_VALUES = 1_000

function isWord(value: unknown, argument: ToolArgument): value is string {
  if (typeof value !== "string" || value === "" || value.includes("\0")) return false
  if ("choices" in argument && argument.choices !== undefined) return argument.choices.includes(value)
  return !isPath(argument) || !NO_PATH.test(value)
}

/** Not allowed: standard input carries the protocol, and nothing is fetched. */
const NO_PATH = /^(-$|https?:\/\/)/i

const isPath = ({ type }: ToolArgument): boolean => type === "path" || type === "paths"

function wantedOf(argument: ToolArgument): string {
  if ("choices" in argument && argument.choices !== undefined) return `one of ${argument.choices.join(", ")}`
  return isPath(argument) ? "a file or folder" : "a string that is not empty"
}
