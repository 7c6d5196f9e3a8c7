// SPDX-License-Identifier: Apache-2.0
// Compares a value with the schema of its kind and reports every difference in plain words. The value must be a
// `snapshot`: its limits bound the number of differences.

import type { TSchema } from "typebox"
import { nearest } from "../shape/nearest.js"
import { type Difference, findDifferences, type SchemaNode } from "./differences.js"
import type { Path } from "./document-error.js"
import { shown } from "./document-error.js"
import type { Report } from "./field.js"

/** `base` is the path of the value in its document. */
export function checkStructure(schema: TSchema, value: unknown, base: Path, report: Report): void {
  findDifferences(schema, value, base, difference => {
    if (report.full) report.countError()
    else reportDifference(difference, schema, report)
  })
}

function reportDifference(difference: Difference, root: TSchema, report: Report): void {
  const { keyword, node, at, data, field = "" } = difference
  const literal = literalOf(difference)
  const fix = node["x-fix"]
  switch (keyword) {
    case "additionalProperties": {
      const rejected = own(node["x-rejected"], field)
      if (rejected !== undefined) report.error("not-supported", [...at, field], rejected.problem, rejected.fix)
      else
        report.error(
          "unknown-field",
          [...at, field],
          `unknown field \`${shown(field)}\``,
          suggestField(field, node, root),
        )
      return
    }
    case "required": {
      const missing = node.properties?.[field]
      report.error("missing-field", [...at, field], `\`${field}\` is missing`, missing?.["x-fix"] ?? `add \`${field}\``)
      return
    }
    case "type":
      report.error(
        "wrong-type",
        at,
        literal ?? wrongType(data, node),
        missesQuotes(data, node) ?? (misspelt(data, node) ? undefined : fix) ?? rightType(data, node),
      )
      return
    case "enum": {
      const value = String(data)
      const rejected = own(node["x-rejected"], value)
      if (rejected !== undefined) {
        report.error("not-supported", at, rejected.problem, rejected.fix)
        return
      }
      const allowed = (node.enum ?? []) as readonly string[] // our enums are lists of words
      report.error("unknown-value", at, `unsupported value \`${shown(value)}\``, suggestValue(value, allowed))
      return
    }
    case "minLength":
      report.error("empty-value", at, literal ?? "must not be empty", fix ?? "write a value or remove the field")
      return
    case "minItems":
    case "minProperties":
      report.error("empty-value", at, literal ?? "must not be empty", fix ?? "add an entry")
      return
    case "maxLength":
    case "maxItems":
    case "maxProperties": {
      const unit = keyword === "maxLength" ? "characters" : "values"
      const problem = literal ?? `may not have more than ${node[keyword]} ${unit}`
      if (keyword === "maxLength") report.error("too-large", at, problem, "shorten it")
      else report.tooMany(at, problem, "use fewer, or split the policy")
      return
    }
    case "minimum":
    case "maximum":
      report.error(
        "bad-value",
        at,
        `\`${written(data)}\` is out of range`,
        fix ?? `write a whole number from ${written(node.minimum)} to ${written(node.maximum)}`,
      )
      return
    case "pattern":
      // An empty value has been reported already.
      if (data === "") return
      report.error(
        "bad-value",
        at,
        literal ?? `header name ${written(data)} is not a valid header name`,
        fix ?? "use letters, digits, `-` and `_` only",
      )
      return
    default:
      // Fail closed: a keyword that has no message still rejects the document.
      report.error("bad-value", at, `does not satisfy \`${keyword}\``, fix ?? "see the reference page of the kind")
  }
}

function literalOf({ keyword, node, at, data }: Difference): string | undefined {
  const literal = own(node["x-problem"], keyword === "type" && data === null ? "null" : keyword)
  const rule = at[at.indexOf("rules") + 1]
  return literal?.replace("{rule}", String(rule))
}

const NAMES = { string: "text", number: "a number", integer: "a whole number", boolean: "true or false" } as const

function nameOf(type: unknown): string {
  if (type === "array") return "a list"
  if (type === "object") return "an object"
  return own(NAMES, String(type)) ?? String(type)
}

function wrongType(data: unknown, node: SchemaNode): string {
  const wanted = nameOf(node.type)
  if (data === null) return `is null, not ${wanted}`
  if (Array.isArray(data)) return `is a list, not ${wanted}`
  if (typeof data === "object") return `is an object, not ${wanted}`
  const found = typeof data === "string" ? "text" : typeof data === "number" ? "a number" : "true or false"
  return `\`${written(data)}\` is ${found}, not ${wanted}`
}

/** YAML does not read `80`, `yes` and `1.0` as text. */
function missesQuotes(data: unknown, node: SchemaNode): string | undefined {
  return node.type === "string" && typeof data !== "object" ? `put it in quotes: \`"${written(data)}"\`` : undefined
}

/** A single value instead of a list of such values, or a number in quotes: then the fix is about the spelling. */
function misspelt(data: unknown, node: SchemaNode): boolean {
  return data !== null && typeof data !== "object" && node.type !== "object"
}

function rightType(data: unknown, node: SchemaNode): string {
  if (data === null) return "give it a value or remove the field"
  const scalar = typeof data !== "object"
  if (node.type === "string") return "write text"
  if (node.type === "array")
    return scalar ? `write a list: \`[${JSON.stringify(data)}]\`` : "write a list: begin each entry with `-`"
  if (node.type === "object" && Array.isArray(data)) return "write a single object: remove the `-` or the brackets"
  if (node.type === "object") return `write an object with ${listed(Object.keys(node.properties ?? {}))}`
  if (node.type === "boolean") return "write true or false, without quotes"
  return "write a whole number, without quotes"
}

/** A scalar in its author's spelling. */
function written(data: unknown): string {
  return shown(typeof data === "string" ? data : (JSON.stringify(data) ?? ""))
}

function suggestField(name: string, { properties = {} }: SchemaNode, root: TSchema): string {
  const known = Object.keys(properties).filter(field => properties[field]?.["x-alias"] === undefined)
  const near = nearest(name, known)
  if (near !== undefined) return `did you mean \`${near}\`?`
  const elsewhere = placeOf(name, root)
  if (elsewhere !== undefined) return `\`${name}\` belongs to \`${elsewhere}\``
  return `known here are ${listed(known)}`
}

function suggestValue(value: string, allowed: readonly string[]): string {
  const near = nearest(value, allowed)
  return near === undefined ? `use ${listed(allowed, "or")}` : `did you mean \`${near}\`?`
}

export function listed(words: readonly string[], joint = "and"): string {
  const quoted = words.map(word => `\`${word}\``)
  return quoted.length < 2 ? (quoted[0] ?? "nothing") : `${quoted.slice(0, -1).join(", ")} ${joint} ${quoted.at(-1)}`
}

/** Where the schema has a field with exactly that name: people often put the right field at the wrong level. */
export function placeOf(name: string, schema: TSchema): string | undefined {
  const search = ({ properties = {}, items }: SchemaNode, path: string): string | undefined => {
    if (own(properties, name) !== undefined) return path
    for (const [field, child] of Object.entries(properties)) {
      const found = search(child, `${path}.${field}`)
      if (found !== undefined) return found
    }
    return items === undefined ? undefined : search(items, `${path}[]`)
  }
  return search(schema, "spec")
}

function own<T>(record: { readonly [name: string]: T } | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}
