// SPDX-License-Identifier: Apache-2.0
// JSON values in CEL: the schema decides what is an int and what a double, property names that are not CEL identifiers
// are escaped, and nulls of declared fields count as absent.

import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { isNumber, isObject, type Json } from "../../value.js"
import type { Schema } from "../structural.js"
import { type CelBinding, OPTIONAL } from "./environment.js"

const reserved = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
)

/** The name of a property in rules; undefined if rules cannot access it. */
export function escapeName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[a-zA-Z_.\-/][a-zA-Z0-9_.\-/]*$/.test(name)) return undefined
  return name
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__")
}

export function toCel(value: Json, schema?: Schema): CelBinding {
  if (value === null) return null
  if (Array.isArray(value)) return value.map(item => toCel(item, schema?.items))
  if (isObject(value)) {
    const out = new Map<string, CelBinding>()
    for (const [key, item] of Object.entries(value)) {
      const declared = schema?.properties.get(key)
      if (declared !== undefined) {
        const name = escapeName(key)
        if (name !== undefined && item !== null) out.set(name, toCel(item, declared))
      } else if (schema !== undefined && typeof schema.additional === "object")
        out.set(key, toCel(item, schema.additional))
      else out.set(key, toCel(item))
    }
    return out
  }
  if (isNumber(value)) {
    if (schema !== undefined && schema.type === "number") return Number(value)
    return typeof value === "bigint" || Number.isInteger(value) ? BigInt(value) : value
  }
  if (typeof value === "string" && schema?.format === "date-time") {
    const millis = Date.parse(value)
    if (!Number.isNaN(millis)) return timestampFromMs(millis)
  }
  return value
}

export function optionalOf(value: Json | undefined, schema: Schema): CelBinding {
  return new Map<string, CelBinding>([[OPTIONAL, value === undefined ? [] : [toCel(value, schema)]]])
}
