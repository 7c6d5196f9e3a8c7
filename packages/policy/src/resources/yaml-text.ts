// SPDX-License-Identifier: Apache-2.0
// Parses YAML (or JSON) text into plain values with their positions. It drives the `yaml` package token by token: the
// package's composer recurses, and a text with a few thousand brackets would crash the process rather than throw. Depth
// and number of tokens are bounded before anything is composed, and aliases are expanded here and counted.

import { Composer, type Document, isAlias, isMap, isScalar, isSeq, Lexer, type ParsedNode, Parser } from "yaml"
import { BareObject } from "./bare-object.js"
import { type DocumentError, finding, type Path, type Position, shown } from "./document-error.js"
import { readPlainYaml } from "./plain-yaml.js"

export const TEXT_LIMITS = {
  /** For the whole text, in UTF-16 units. */
  characters: 1_048_576,
  /** Lexical tokens; ordinary YAML has one for every five characters. */
  tokens: 300_000,
  depth: 64,
  /** Aliases per document, each of which is fully expanded. */
  aliases: 50,
  /** Values per document once aliases are expanded. */
  values: 100_000,
  documents: 1_000,
  directives: 100,
  /** After this many syntax errors, further ones are meaningless. */
  errors: 20,
} as const

/** The positions of a value and of its key. */
interface Place {
  readonly start: number
  readonly key: number
  readonly inside: ReadonlyMap<string | number, Place>
}

export interface YamlDocument {
  /** Undefined if the document could not be parsed; its errors then contain the reason. */
  readonly value: unknown
  readonly errors: readonly DocumentError[]
  readonly locate: (at: Path, wanted: "key" | "value") => Position
}

class Unreadable extends Error {
  constructor(
    readonly problem: string,
    readonly fix: string,
    readonly offset: number,
  ) {
    super(problem)
  }
}

/** Documents in order, without empty ones. A text that exceeds a limit is one document with one error. */
export function parseYaml(text: string, maxCharacters: number = TEXT_LIMITS.characters): readonly YamlDocument[] {
  const plain = text.length > maxCharacters ? undefined : readPlainYaml(text)
  if (plain === undefined) return parseYamlSlowly(text, maxCharacters)
  // Positions are needed only for errors, which are rare.
  let placed: readonly YamlDocument[] | undefined
  const locate = (index: number, at: Path, wanted: "key" | "value"): Position => {
    placed ??= parseYamlSlowly(text, maxCharacters)
    return placed[index]?.locate(at, wanted) ?? START
  }
  return plain
    .filter(value => value !== null)
    .map((value, index) => ({ value, errors: [], locate: (at, wanted) => locate(index, at, wanted) }))
}

const START: Position = { line: 1, column: 1 }

/** Uses only the library. */
export function parseYamlSlowly(text: string, maxCharacters: number = TEXT_LIMITS.characters): readonly YamlDocument[] {
  const positionOf = lineIndex(text)
  try {
    if (text.length > maxCharacters) {
      throw new Unreadable(`the text has more than ${maxCharacters} characters`, "split it into several files", 0)
    }
    return compose(text)
      .map(document => convert(document, positionOf))
      .filter(({ value, errors }) => value !== null || errors.length > 0)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return [unreadable([error], positionOf)]
  }
}

function compose(text: string): Document.Parsed[] {
  const parser = new Parser()
  // Keys are checked for uniqueness here, in linear time; the composer would compare every pair.
  const composer = new Composer({ version: "1.2", schema: "core", uniqueKeys: false, prettyErrors: false })
  const documents: Document.Parsed[] = []
  let tokens = 0
  let errors = 0
  let directives = 0
  const take = (found: Iterable<Document.Parsed>): void => {
    for (const document of found) documents.push(document)
    if (documents.length > TEXT_LIMITS.documents) {
      throw new Unreadable(`the text has more than ${TEXT_LIMITS.documents} documents`, "split it", parser.offset)
    }
  }
  for (const lexeme of new Lexer().lex(text)) {
    if (++tokens > TEXT_LIMITS.tokens) {
      throw new Unreadable(
        `the text has more than ${TEXT_LIMITS.tokens} tokens`,
        "split it into several files",
        parser.offset,
      )
    }
    for (const token of parser.next(lexeme)) {
      if (token.type === "error" && ++errors > TEXT_LIMITS.errors) {
        throw new Unreadable(shown(token.message), "this does not look like YAML or JSON", token.offset)
      }
      if (token.type === "directive" && ++directives > TEXT_LIMITS.directives) {
        throw new Unreadable(`the text has more than ${TEXT_LIMITS.directives} directives`, "remove them", token.offset)
      }
      take(composer.next(token))
    }
    if (parser.stack.length > TEXT_LIMITS.depth) {
      throw new Unreadable(
        `the text is nested more than ${TEXT_LIMITS.depth} deep`,
        "remove the nesting",
        parser.offset,
      )
    }
  }
  for (const token of parser.end()) take(composer.next(token))
  take(composer.end())
  return documents
}

function convert(document: Document.Parsed, positionOf: (offset: number) => Position): YamlDocument {
  // The parser only warns about an unknown tag. Here it is an error, because the value is not what the tag claims.
  const problems = [...document.errors, ...document.warnings].slice(0, TEXT_LIMITS.errors)
  if (problems.length > 0) {
    const errors = problems.map(
      ({ message, pos }) =>
        new Unreadable(
          shown(message.charAt(0).toLowerCase() + message.slice(1)),
          "mend the YAML at this place",
          pos[0],
        ),
    )
    return unreadable(errors, positionOf)
  }
  try {
    const { value, place } = new Conversion().document(document)
    return { value, errors: [], locate: (at, wanted) => positionOf(find(place, at, wanted)) }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return unreadable([error], positionOf)
  }
}

function unreadable(problems: readonly Unreadable[], positionOf: (offset: number) => Position): YamlDocument {
  const errors = problems.map(({ problem, fix, offset }) => finding("unreadable", [], problem, fix, positionOf(offset)))
  return { value: undefined, errors, locate: () => START }
}

type Converted = { readonly value: unknown; readonly place: Place }
const NOTHING_INSIDE: ReadonlyMap<string | number, Place> = new Map()

class Conversion {
  readonly #anchors = new Map<string, ParsedNode>()
  #values = 0
  #aliases = 0
  #depth = 0

  document(document: Document.Parsed): Converted {
    return this.#node(document.contents, 0)
  }

  #node(node: ParsedNode | null, key: number): Converted {
    if (node === null) return { value: null, place: { start: key, key, inside: NOTHING_INSIDE } }
    const start = node.range[0]
    if (++this.#values > TEXT_LIMITS.values) {
      throw new Unreadable(
        `the document has more than ${TEXT_LIMITS.values} values`,
        "split it into smaller ones",
        start,
      )
    }
    if (isAlias(node)) return this.#alias(node.source, start, key)
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node)
    // An alias to a node that contains it would recurse endlessly; the depth limit prevents that too.
    if (++this.#depth > TEXT_LIMITS.depth)
      throw new Unreadable(`nested more than ${TEXT_LIMITS.depth} deep`, "remove the nesting", start)
    const inside = new Map<string | number, Place>()
    const place = { start, key, inside }
    let value: unknown
    if (isMap(node)) value = this.#map(node.items, inside, start)
    else if (isSeq(node)) value = this.#seq(node.items, inside)
    else value = scalar(node.value, start)
    this.#depth--
    return { value, place }
  }

  #map(
    items: readonly { key: ParsedNode; value: ParsedNode | null }[],
    inside: Map<string | number, Place>,
    start: number,
  ) {
    const value: Record<string, unknown> = new BareObject()
    for (const item of items) {
      const at = item.key?.range[0] ?? start
      const name = isScalar(item.key) ? scalar(item.key.value, at) : undefined
      if (name === undefined || name === null) {
        throw new Unreadable("a key must be plain text", "put the key in quotes", at)
      }
      const key = String(name)
      if (inside.has(key)) throw new Unreadable(`the key \`${shown(key)}\` is there twice`, "keep one of them", at)
      const converted = this.#node(item.value, at)
      inside.set(key, converted.place)
      value[key] = converted.value
    }
    return value
  }

  #seq(items: readonly (ParsedNode | null)[], inside: Map<string | number, Place>): unknown[] {
    return items.map((item, index) => {
      const converted = this.#node(item, item?.range[0] ?? 0)
      inside.set(index, converted.place)
      return converted.value
    })
  }

  #alias(name: string, start: number, key: number): Converted {
    if (++this.#aliases > TEXT_LIMITS.aliases) {
      throw new Unreadable(`the document uses more than ${TEXT_LIMITS.aliases} aliases`, "write the values out", start)
    }
    const anchored = this.#anchors.get(name)
    if (anchored === undefined)
      throw new Unreadable(`the alias \`*${shown(name)}\` has no anchor`, "write the value out", start)
    return this.#node(anchored, key)
  }
}

function scalar(value: unknown, offset: number): string | number | boolean | null {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value
  if (typeof value === "number" && Number.isFinite(value)) return value
  throw new Unreadable("the value is of a type that JSON does not have", "put it in quotes if it is text", offset)
}

/** The deepest existing ancestor: a missing field is shown where it belongs. */
function find(root: Place, at: Path, wanted: "key" | "value"): number {
  let place = root
  for (const step of at) {
    const next = place.inside.get(step)
    if (next === undefined) return place.key
    place = next
  }
  return wanted === "key" || place.inside.size > 0 ? place.key : place.start
}

function lineIndex(text: string): (offset: number) => Position {
  let starts: number[] | undefined
  return offset => {
    if (starts === undefined) {
      starts = [0]
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1)
    }
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
  }
}
