// SPDX-License-Identifier: Apache-2.0
// Parses and prints JSON. Parsing keeps 64-bit integers, reports duplicate keys by path, limits the depth and uses the
// error messages of Go's encoding/json, because clients of Kubernetes see them.

import { type Json, type JsonObject, setKey } from "../value.js"

const MAX_DEPTH = 1000
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

export class JsonSyntaxError extends Error {}

export interface ParsedJson {
  readonly value: Json
  /** Paths of keys that occur more than once; the last one wins. */
  readonly duplicates: string[]
}

class Parser {
  at = 0
  readonly duplicates: string[] = []
  constructor(readonly text: string) {}

  fail(context: string): never {
    if (this.at >= this.text.length) throw new JsonSyntaxError("unexpected end of JSON input")
    const code = this.text.codePointAt(this.at) ?? 0
    throw new JsonSyntaxError(`invalid character ${quoteCharacter(String.fromCodePoint(code))} ${context}`)
  }

  space(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (code === 32 || code === 10 || code === 13 || code === 9) this.at++
      else return
    }
  }

  value(depth: number, path: string): Json {
    if (depth > MAX_DEPTH) throw new JsonSyntaxError("exceeded max depth")
    this.space()
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth, path)
      case "[":
        return this.array(depth, path)
      case '"':
        return this.string()
      case "t":
        return this.literal("true", true)
      case "f":
        return this.literal("false", false)
      case "n":
        return this.literal("null", null)
      default:
        return this.number()
    }
  }

  literal<T>(word: string, value: T): T {
    for (let i = 0; i < word.length; i++) {
      if (this.text[this.at] !== word[i]) this.fail(`in literal ${word} (expecting '${word[i]}')`)
      this.at++
    }
    return value
  }

  number(): number | bigint {
    const start = this.at
    if (this.text[this.at] === "-") this.at++
    const first = this.text[this.at]
    if (first === undefined || first < "0" || first > "9")
      this.fail(this.at > start ? "in numeric literal" : "looking for beginning of value")
    this.at++
    if (first !== "0") this.digits()
    let whole = true
    if (this.text[this.at] === ".") {
      this.at++
      this.digits("after decimal point in numeric literal")
      whole = false
    }
    if (this.text[this.at] === "e" || this.text[this.at] === "E") {
      this.at++
      if (this.text[this.at] === "+" || this.text[this.at] === "-") this.at++
      this.digits("in exponent of numeric literal")
      whole = false
    }
    const literal = this.text.slice(start, this.at)
    const value = Number(literal)
    if (!Number.isFinite(value)) throw new JsonSyntaxError(`number ${literal} is out of range`)
    if (!whole || Number.isSafeInteger(value)) return Object.is(value, -0) ? 0 : value
    const big = BigInt(literal)
    return big >= INT64_MIN && big <= INT64_MAX ? big : value
  }

  digits(required?: string): void {
    const start = this.at
    for (;;) {
      const c = this.text.charCodeAt(this.at)
      if (c >= 48 && c <= 57) this.at++
      else break
    }
    if (required !== undefined && this.at === start) this.fail(required)
  }

  string(): string {
    const start = ++this.at
    let plain = true
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (Number.isNaN(code)) this.fail("")
      if (code === 34) break
      if (code < 32) this.fail("in string literal")
      if (code === 92) {
        plain = false
        this.at++
        const escaped = this.text[this.at]
        if (escaped === undefined) this.fail("")
        if (escaped === "u") {
          for (let i = 1; i <= 4; i++) {
            if (!/[0-9a-fA-F]/.test(this.text[this.at + i] ?? "")) {
              this.at += i
              this.fail("in \\u hexadecimal character escape")
            }
          }
          this.at += 4
        } else if (!'"\\/bfnrt'.includes(escaped)) this.fail("in string escape code")
      }
      this.at++
    }
    const raw = this.text.slice(start, this.at)
    this.at++
    if (plain) return raw
    // Go replaces lone surrogates.
    return (JSON.parse(`"${raw}"`) as string).replace(loneSurrogate, "\ufffd")
  }

  array(depth: number, path: string): Json[] {
    this.at++
    const out: Json[] = []
    this.space()
    if (this.text[this.at] === "]") {
      this.at++
      return out
    }
    for (;;) {
      out.push(this.value(depth + 1, `${path}[${out.length}]`))
      this.space()
      const next = this.text[this.at]
      if (next === "]") {
        this.at++
        return out
      }
      if (next !== ",") this.fail("after array element")
      this.at++
    }
  }

  object(depth: number, path: string): JsonObject {
    this.at++
    const out: JsonObject = {}
    this.space()
    if (this.text[this.at] === "}") {
      this.at++
      return out
    }
    for (;;) {
      this.space()
      if (this.text[this.at] !== '"') this.fail("looking for beginning of object key string")
      const key = this.string()
      const here = path === "" ? key : `${path}.${key}`
      if (Object.hasOwn(out, key)) this.duplicates.push(here)
      this.space()
      if (this.text[this.at] !== ":") this.fail("after object key")
      this.at++
      setKey(out, key, this.value(depth + 1, here))
      this.space()
      const next = this.text[this.at]
      if (next === "}") {
        this.at++
        return out
      }
      if (next !== ",") this.fail("after object key:value pair")
      this.at++
    }
  }
}

function quoteCharacter(c: string): string {
  if (c === "'") return `'\\''`
  if (c === '"') return `'"'`
  return `'${JSON.stringify(c).slice(1, -1)}'`
}

/** Throws JsonSyntaxError with Go's message. */
export function parseJson(text: string): ParsedJson {
  const parser = new Parser(text)
  const value = parser.value(0, "")
  parser.space()
  if (parser.at < text.length) parser.fail("after top-level value")
  return { value, duplicates: [...new Set(parser.duplicates)] }
}

/** For text that this server wrote itself: without duplicates or errors. */
export function parseTrusted(text: string): Json {
  return /\d{16}/.test(text) ? parseJson(text).value : (JSON.parse(text) as Json)
}

export function stringify(value: Json, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent)
  } catch (error) {
    // JSON.stringify rejects bigints, so only documents that contain one use the slower writer.
    if (error instanceof TypeError) return write(value, indent ?? 0, "")
    throw error
  }
}

function write(value: Json, indent: number, pad: string): string {
  if (typeof value === "bigint") return value.toString()
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const inner = pad + " ".repeat(indent)
  const gap = indent > 0 ? `\n${inner}` : ""
  const end = indent > 0 ? `\n${pad}` : ""
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]"
    return `[${gap}${value.map(item => write(item, indent, inner)).join(`,${gap}`)}${end}]`
  }
  const keys = Object.keys(value)
  if (keys.length === 0) return "{}"
  const colon = indent > 0 ? ": " : ":"
  return `{${gap}${keys.map(key => `${JSON.stringify(key)}${colon}${write(value[key] ?? null, indent, inner)}`).join(`,${gap}`)}${end}}`
}
