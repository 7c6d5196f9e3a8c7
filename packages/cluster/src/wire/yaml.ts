// SPDX-License-Identifier: Apache-2.0
// YAML bodies and responses. A body is parsed as JSON data with 64-bit integers. Duplicate keys are reported by line.
// Errors have the Go library's messages if clients are known to compare them.

import { isMap, isScalar, Lexer, LineCounter, Parser, parseDocument, stringify as print, visit } from "yaml"
import { type Json, sorted } from "../value.js"
import { JsonSyntaxError, parseJson } from "./json.js"

export class YamlSyntaxError extends Error {}

export interface ParsedYaml {
  readonly value: Json
  /** One message per repeated key. */
  readonly duplicates: string[]
}

/** Parsing YAML blocks all other requests, for about two seconds per MiB. Larger bodies must be JSON. */
const MAX_CHARACTERS = 512 * 1024

export function parseYaml(text: string): ParsedYaml {
  const json = text.startsWith("{") ? asJson(text) : undefined
  if (json !== undefined) return json
  if (text.length > MAX_CHARACTERS)
    throw new YamlSyntaxError(`yaml: the document has more than ${MAX_CHARACTERS} characters, send it as JSON`)
  checkDepth(text)
  return readYaml(text)
}

/** Deeper than any Kubernetes document. */
const MAX_DEPTH = 200

// The composer recurses, so a text of a few thousand brackets would end the process instead of throwing. The parser it
// uses does not recurse, and its stack shows the depth.
function checkDepth(text: string): void {
  const parser = new Parser()
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    if (parser.stack.length > MAX_DEPTH) throw new YamlSyntaxError(`yaml: exceeded max depth of ${MAX_DEPTH}`)
  }
}

function readYaml(text: string): ParsedYaml {
  const lines = new LineCounter()
  const document = parseDocument(text, { uniqueKeys: false, intAsBigInt: true, lineCounter: lines })
  const [error] = document.errors
  if (error !== undefined) throw new YamlSyntaxError(wording(error.code, error.message, error.linePos?.[0].line ?? 1))
  const duplicates: string[] = []
  visit(document, {
    Map(_, map) {
      if (!isMap(map)) return
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        // JSON has no such keys, and the library takes minutes to print deeply nested ones.
        if (!isScalar(key)) throw new YamlSyntaxError("yaml: invalid map key: only scalars can be keys in JSON")
        if (seen.has(key.value))
          duplicates.push(
            `  line ${lines.linePos(key.range?.[0] ?? 0).line}: key ${JSON.stringify(key.value)} already set in map`,
          )
        seen.add(key.value)
      }
    },
  })
  try {
    return { value: narrow(document.toJS({ maxAliasCount: 100 })), duplicates }
  } catch (error) {
    // Nested aliases can expand to more than memory holds; the library counts them and throws.
    if (error instanceof ReferenceError) throw new YamlSyntaxError("yaml: document contains excessive aliasing")
    throw error
  }
}

/** Most YAML bodies are JSON, which is parsed a hundred times faster. */
function asJson(text: string): ParsedYaml | undefined {
  try {
    const { value, duplicates } = parseJson(text)
    return duplicates.length === 0 ? { value, duplicates } : undefined
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined
    throw error
  }
}

function wording(code: string, message: string, line: number): string {
  const at = line > 1 ? `line ${line}: ` : ""
  if (/^Nested mappings are not allowed/.test(message))
    return `yaml: ${at}mapping values are not allowed in this context`
  if (code === "BAD_SCALAR_START") return `yaml: ${at}found character that cannot start any token`
  if (/Flow (sequence|map)/.test(message)) return `yaml: line ${line}: did not find expected node content`
  return `yaml: ${at}${message.split("\n")[0]}`
}

/** Converts bigints in the safe range to numbers, and keys to strings as in JSON. */
function narrow(value: unknown): Json {
  if (typeof value === "bigint")
    return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value
  if (Array.isArray(value)) return value.map(narrow)
  if (value instanceof Date) return value.toISOString()
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, narrow(item)]))
  return value === undefined ? null : (value as Json)
}

export function printYaml(value: Json): string {
  const text = print(sorted(value), { version: "1.1", lineWidth: 0, indentSeq: false, aliasDuplicateObjects: false })
  // Go's printer does not quote this key.
  return text.replace(/^(\s*)"\.":/gm, "$1.:")
}
