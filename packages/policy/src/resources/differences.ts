// SPDX-License-Identifier: Apache-2.0
// Reports every difference between a value and a schema. It supports the keywords of `schema.ts` only: a test compares
// each definition with `KEYWORDS`, and this validator with a full JSON Schema validator. The full one compiles code for
// each schema, which took a quarter of a proxy's startup time.

import type { Path } from "./document-error.js"
import { isObject } from "./field.js"
import type { Notes } from "./schema.js"

export interface SchemaNode extends Partial<Notes> {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: SchemaNode
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly required?: readonly string[]
  readonly properties?: { readonly [field: string]: SchemaNode }
  readonly additionalProperties?: boolean | SchemaNode
}

/** Keywords that restrict values. `format` matters only to Kubernetes. */
export const KEYWORDS = [
  ...["type", "enum", "minLength", "maxLength", "pattern", "minimum", "maximum"],
  ...["minItems", "maxItems", "items"],
  ...["minProperties", "maxProperties", "required", "properties", "additionalProperties"],
] as const

export interface Difference {
  readonly keyword: string
  readonly node: SchemaNode
  readonly at: Path
  readonly data: unknown
  /** The missing or unknown field, if the difference is about one. */
  readonly field?: string
}

/** In schema order: the errors of an object come before those of its fields. `base` is the path of the value. */
export function findDifferences(
  schema: SchemaNode,
  value: unknown,
  base: Path,
  found: (difference: Difference) => void,
): void {
  new Walk(base, found).visit(schema, value)
}

class Walk {
  readonly #at: (string | number)[]
  readonly #found: (difference: Difference) => void

  constructor(base: Path, found: (difference: Difference) => void) {
    this.#at = [...base]
    this.#found = found
  }

  visit(node: SchemaNode, data: unknown): void {
    switch (node.type) {
      case "string":
        if (typeof data === "string") this.#text(node, data)
        else this.#differs("type", node, data)
        return
      case "integer":
        if (Number.isInteger(data)) this.#number(node, Number(data))
        else this.#differs("type", node, data)
        return
      case "boolean":
        if (typeof data !== "boolean") this.#differs("type", node, data)
        return
      case "array":
        if (Array.isArray(data)) this.#list(node, data)
        else this.#differs("type", node, data)
        return
      case "object":
        if (isObject(data)) this.#object(node, data)
        else this.#differs("type", node, data)
        return
      default:
        // Fail closed: a type without a check counts as different.
        this.#differs("type", node, data)
    }
  }

  #text(node: SchemaNode, text: string): void {
    const { minLength, maxLength, pattern, enum: values } = node
    if (maxLength !== undefined && text.length > maxLength && charactersIn(text) > maxLength) {
      this.#differs("maxLength", node, text)
    }
    if (minLength !== undefined && text.length < 2 * minLength && charactersIn(text) < minLength)
      this.#differs("minLength", node, text)
    if (pattern !== undefined && !compiled(pattern).test(text)) this.#differs("pattern", node, text)
    if (values !== undefined && !values.includes(text)) this.#differs("enum", node, text)
  }

  #number(node: SchemaNode, number: number): void {
    const { minimum, maximum } = node
    if (maximum !== undefined && number > maximum) this.#differs("maximum", node, number)
    if (minimum !== undefined && number < minimum) this.#differs("minimum", node, number)
  }

  #list(node: SchemaNode, list: readonly unknown[]): void {
    const { minItems, maxItems, items } = node
    if (maxItems !== undefined && list.length > maxItems) this.#differs("maxItems", node, list)
    if (minItems !== undefined && list.length < minItems) this.#differs("minItems", node, list)
    if (items === undefined) return
    for (const [index, item] of list.entries()) this.#inside(index, items, item)
  }

  #object(node: SchemaNode, object: Readonly<Record<string, unknown>>): void {
    const { minProperties, maxProperties, required = [], properties = {}, additionalProperties = true } = node
    const fields = Object.keys(object)
    if (maxProperties !== undefined && fields.length > maxProperties) this.#differs("maxProperties", node, object)
    if (minProperties !== undefined && fields.length < minProperties) this.#differs("minProperties", node, object)
    for (const field of required) if (object[field] === undefined) this.#differs("required", node, object, field)
    for (const field of fields) {
      if (additionalProperties === true || Object.hasOwn(properties, field)) continue
      if (additionalProperties === false) this.#differs("additionalProperties", node, object, field)
      else this.#inside(field, additionalProperties, object[field])
    }
    for (const [field, child] of Object.entries(properties)) {
      if (object[field] !== undefined) this.#inside(field, child, object[field])
    }
  }

  #inside(step: string | number, node: SchemaNode, data: unknown): void {
    this.#at.push(step)
    this.visit(node, data)
    this.#at.pop()
  }

  #differs(keyword: string, node: SchemaNode, data: unknown, field?: string): void {
    this.#found({ keyword, node, at: [...this.#at], data, ...(field === undefined ? {} : { field }) })
  }
}

/** Counts characters rather than surrogates. */
function charactersIn(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

const patterns = new Map<string, RegExp>()

function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern) ?? new RegExp(pattern, "u")
  patterns.set(pattern, known)
  return known
}
