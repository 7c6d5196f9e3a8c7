// SPDX-License-Identifier: Apache-2.0
// Holds a value against the schema of its kind and reports every difference in plain words. ajv finds the differences;
// what they mean to a person is said here. The value must be a `snapshot`: its limits bound the number of differences.

import { Ajv, type ErrorObject, type ValidateFunction } from "ajv"
import type { TSchema } from "typebox"
import type { Path } from "./fault.js"
import { shown } from "./fault.js"
import { isObject, type Report } from "./field.js"
import { nearest } from "./nearest.js"
import type { Notes } from "./schema.js"

type SchemaNode = Partial<Notes> & { readonly [keyword: string]: unknown }

const ajv = new Ajv({
  ...{ allErrors: true, verbose: true, messages: false, strict: false, validateFormats: false },
  // Our schemas are held against the one of schemas by a test: to do it at each start took as long as to compile them.
  ...{ validateSchema: false, meta: false },
})
const validators = new WeakMap<TSchema, ValidateFunction>()

/** `base` is where the value stands in its document. */
export function checkStructure(schema: TSchema, value: unknown, base: Path, report: Report): void {
  const validator = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, validator)
  if (validator(value)) return
  for (const error of validator.errors ?? []) {
    if (report.full) {
      report.countFault()
      continue
    }
    const at = [...base, ...resolve(error.instancePath, value)]
    // ajv is told to be verbose, so that the failing node comes with the error.
    const node = (error.parentSchema ?? {}) as SchemaNode
    reportDifference(error, node, schema, at, report)
  }
}

function reportDifference(error: ErrorObject, node: SchemaNode, root: TSchema, at: Path, report: Report): void {
  const literal = literalOf(node, error, at)
  const fix = node["x-fix"]
  const data: unknown = error.data
  switch (error.keyword) {
    case "additionalProperties": {
      const name = String(error.params.additionalProperty)
      const refused = own(node["x-refused"], name)
      if (refused !== undefined) report.fault("not-supported", [...at, name], refused.problem, refused.fix)
      else
        report.fault("unknown-field", [...at, name], `unknown field \`${shown(name)}\``, suggestField(name, node, root))
      return
    }
    case "required": {
      const name = String(error.params.missingProperty)
      const missing = propertiesOf(node)[name]
      report.fault("missing-field", [...at, name], `\`${name}\` is missing`, missing?.["x-fix"] ?? `add \`${name}\``)
      return
    }
    case "type":
      report.fault(
        "wrong-type",
        at,
        literal ?? wrongType(data, node),
        missesQuotes(data, node) ?? (misspelt(data, node) ? undefined : fix) ?? rightType(data, node),
      )
      return
    case "enum": {
      // Where the type is wrong too, that alone is said.
      if (typeof data !== "string") return
      const refused = own(node["x-refused"], data)
      if (refused !== undefined) {
        report.fault("not-supported", at, refused.problem, refused.fix)
        return
      }
      const allowed = (error.params.allowedValues ?? []) as readonly string[] // our enums are lists of words
      report.fault("unknown-value", at, `unsupported value \`${shown(data)}\``, suggestValue(data, allowed))
      return
    }
    case "minLength":
      report.fault("empty-value", at, literal ?? "must not be empty", fix ?? "write a value or remove the field")
      return
    case "minItems":
    case "minProperties":
      report.fault("empty-value", at, literal ?? "must not be empty", fix ?? "add an entry")
      return
    case "maxLength":
    case "maxItems":
    case "maxProperties": {
      const unit = error.keyword === "maxLength" ? "characters" : "values"
      const problem = literal ?? `may not have more than ${error.params.limit} ${unit}`
      report.fault(
        "too-large",
        at,
        problem,
        error.keyword === "maxLength" ? "shorten it" : "use fewer, or split the policy",
      )
      return
    }
    case "minimum":
    case "maximum":
      report.fault(
        "bad-value",
        at,
        `\`${written(data)}\` is out of range`,
        fix ?? `write a whole number from ${written(node.minimum)} to ${written(node.maximum)}`,
      )
      return
    case "pattern":
      // An empty value has been reported as such.
      if (data === "") return
      report.fault(
        "bad-value",
        at,
        literal ?? `header name ${written(data)} is not a valid header name`,
        fix ?? "use letters, digits, `-` and `_` only",
      )
      return
    default:
      // Fail closed: a keyword nobody has found words for still refuses the document.
      report.fault(
        "bad-value",
        at,
        `does not satisfy \`${error.keyword}\``,
        fix ?? "see the reference page of the kind",
      )
  }
}

function literalOf(node: SchemaNode, error: ErrorObject, at: Path): string | undefined {
  const keyword = error.keyword === "type" && error.data === null ? "null" : error.keyword
  const literal = own(node["x-problem"], keyword)
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

/** YAML reads `80`, `yes` and `1.0` as something else than text. */
function missesQuotes(data: unknown, node: SchemaNode): string | undefined {
  return node.type === "string" && typeof data !== "object" ? `put it in quotes: \`"${written(data)}"\`` : undefined
}

/** One value where a list of such is wanted, or a number in quotes: how to spell it says more than what to write. */
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
  if (node.type === "object") return `write an object with ${listed(Object.keys(propertiesOf(node)))}`
  if (node.type === "boolean") return "write true or false, without quotes"
  return "write a whole number, without quotes"
}

/** A scalar as its author wrote it. */
function written(data: unknown): string {
  return shown(typeof data === "string" ? data : (JSON.stringify(data) ?? ""))
}

function suggestField(name: string, node: SchemaNode, root: TSchema): string {
  const known = Object.keys(propertiesOf(node)).filter(field => propertiesOf(node)[field]?.["x-alias"] === undefined)
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

/** Where in the schema an object has a field of exactly that name: people often put the right field one level off. */
export function placeOf(name: string, schema: TSchema): string | undefined {
  const search = (node: SchemaNode, path: string): string | undefined => {
    const properties = propertiesOf(node)
    if (own(properties, name) !== undefined) return path
    for (const [field, child] of Object.entries(properties)) {
      const found = search(child, `${path}.${field}`)
      if (found !== undefined) return found
    }
    return isObject(node.items) ? search(node.items, `${path}[]`) : undefined
  }
  return search(schema as SchemaNode, "spec") // a TypeBox value is a JSON Schema object
}

function propertiesOf(node: SchemaNode): { readonly [field: string]: SchemaNode } {
  return (isObject(node.properties) ? node.properties : {}) as { readonly [field: string]: SchemaNode } // by our definitions
}

/** RFC 6901, with the positions of lists as numbers. */
function resolve(pointer: string, value: unknown): (string | number)[] {
  const at: (string | number)[] = []
  let current = value
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~")
    if (Array.isArray(current)) {
      at.push(Number(name))
      current = current[Number(name)]
    } else {
      at.push(name)
      current = isObject(current) ? current[name] : undefined
    }
  }
  return at
}

function own<T>(record: { readonly [name: string]: T } | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}
