// SPDX-License-Identifier: Apache-2.0
// Reads the plain YAML that most manifests are written in, several times faster than the library: block mappings and
// sequences, words, quoted words without escapes, flow sequences of words, and comments on lines of their own.
// Everything else, including every error, is left to the library. INVARIANT: the library reads every text that is
// accepted here as the same value.

import { BareObject } from "./bare-object.js"

/** Far within every limit on a text. */
const MAX_CHARACTERS = 1 << 16
const MAX_LINE = 1_000
const MAX_DEPTH = 30
const MAX_DOCUMENTS = 500

interface Line {
  readonly indent: number
  readonly text: string
}

/** Thrown if the text is more than plain YAML. */
class NotPlain extends Error {}
const NOT_PLAIN = new NotPlain("more than plain YAML")

/** The documents of the text, empty ones as `null`; undefined if the library must read it. */
export function readPlainYaml(text: string): readonly unknown[] | undefined {
  if (text.length > MAX_CHARACTERS || !/^[\x20-\x7e\n]*$/.test(text)) return undefined
  try {
    const documents = split(text)
    return documents.length > MAX_DOCUMENTS ? undefined : documents.map(lines => new Reader(lines).document())
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

function split(text: string): readonly Line[][] {
  let current: Line[] = []
  const documents = [current]
  for (const line of text.split("\n")) {
    if (line === "---") {
      current = []
      documents.push(current)
      continue
    }
    let indent = 0
    while (line[indent] === " ") indent++
    if (indent === line.length || line[indent] === "#") continue
    if (line.length > MAX_LINE || line.endsWith(" ")) throw NOT_PLAIN
    current.push({ indent, text: line.slice(indent) })
  }
  return documents
}

const ENTRY = /^([A-Za-z][A-Za-z0-9_./-]*):(?: +(.+))?$/
/** Keys that YAML does not read as text. */
const NO_TEXT = /^(?:null|true|false)$/i
const isItem = (text: string): boolean => text === "-" || text.startsWith("- ")

class Reader {
  readonly #lines: Line[]
  #at = 0
  #depth = 0

  constructor(lines: Line[]) {
    this.#lines = lines
  }

  document(): unknown {
    const [first] = this.#lines
    if (first === undefined) return null
    if (first.indent !== 0) throw NOT_PLAIN
    const value = this.#block(0)
    if (this.#at < this.#lines.length) throw NOT_PLAIN
    return value
  }

  #block(indent: number): unknown {
    if (++this.#depth > MAX_DEPTH) throw NOT_PLAIN
    const value = isItem(this.#lines[this.#at]?.text ?? "") ? this.#sequence(indent) : this.#mapping(indent)
    this.#depth--
    return value
  }

  #mapping(indent: number): unknown {
    const value: Record<string, unknown> = new BareObject()
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      if (isItem(line.text)) break
      const [, key = "", rest] = ENTRY.exec(line.text) ?? []
      if (key === "" || key in value || NO_TEXT.test(key)) throw NOT_PLAIN
      this.#at++
      const next = this.#lines[this.#at]
      if (rest !== undefined) value[key] = this.#scalar(rest, indent)
      else if (next !== undefined && next.indent > indent) value[key] = this.#block(next.indent)
      // Items may have the same indentation as the key that they belong to.
      else if (next?.indent === indent && isItem(next.text)) value[key] = this.#sequence(indent)
      else value[key] = null
    }
    return value
  }

  #sequence(indent: number): unknown[] {
    const items: unknown[] = []
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      if (!isItem(line.text)) break
      const rest = line.text.slice(1).trimStart()
      if (rest === "" || isItem(rest) || rest.startsWith("#")) throw NOT_PLAIN
      if (ENTRY.test(rest)) {
        // A mapping that begins on the line of its item has the indentation of its first key.
        const inner = indent + line.text.length - rest.length
        this.#lines[this.#at] = { indent: inner, text: rest }
        items.push(this.#block(inner))
      } else {
        this.#at++
        items.push(this.#scalar(rest, indent))
      }
    }
    return items
  }

  /** A line that is indented more than the entry would continue the value. */
  #scalar(text: string, indent: number): unknown {
    const next = this.#lines[this.#at]
    if (next !== undefined && next.indent > indent) throw NOT_PLAIN
    if (!text.startsWith("[")) return word(text, PLAIN)
    if (!text.endsWith("]")) throw NOT_PLAIN
    const inner = text.slice(1, -1).trim()
    return inner === "" ? [] : inner.split(",").map(item => word(item.trim(), PLAIN_IN_FLOW))
  }
}

const PLAIN = /^[A-Za-z0-9_/][A-Za-z0-9_./:@*+=, -]*$/
const PLAIN_IN_FLOW = /^[A-Za-z0-9_/][A-Za-z0-9_./:@*+=-]*$/
const QUOTED = /^(?:"([^"\\,[\]{}]*)"|'([^',[\]{}]*)')$/
const WHOLE = /^(?:0|[1-9][0-9]{0,14})$/
/** Matches everything that may be a number in some notation. */
const LIKE_NUMBER = /^[0-9][0-9a-z_.+-]*$/i

function word(text: string, plain: RegExp): string | number | boolean {
  const [, double, single] = QUOTED.exec(text) ?? []
  const quoted = double ?? single
  if (quoted !== undefined) return quoted
  if (!plain.test(text) || text.includes(": ") || text.endsWith(":")) throw NOT_PLAIN
  if (text === "true" || text === "false") return text === "true"
  if (WHOLE.test(text)) return Number(text)
  if (NO_TEXT.test(text) || LIKE_NUMBER.test(text)) throw NOT_PLAIN
  return text
}
