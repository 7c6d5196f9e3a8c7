// SPDX-License-Identifier: Apache-2.0
// Decodes a document into the shape of a built-in type as Go would: checks types with Go's error messages, collects
// unknown fields, drops empty optional values, adds required ones and orders fields as in Go. The result is JSON again,
// so decoding twice changes nothing.

import { getKey, isNumber, isObject, type Json, type JsonObject, setKey } from "../value.js"
import { parseGoTime, printMicroTime, printTime } from "../wire/go-time.js"
import { canonicalQuantity, quantityError } from "../wire/quantity.js"
import { type FieldDef, type StructNode, schemaPropsType, type TypeNode } from "./type-table.js"

export class DecodeError extends Error {}

export interface DecodeIssues {
  /** Keeps empty lists, as a Go slice before it is stored. */
  readonly keepEmpty?: boolean
  /** In document order, as the strict decoder reports them. */
  readonly unknown: string[]
}

interface Place {
  /** Path of JSON names with indexes and map keys, for error messages. */
  readonly path: string
  /** Innermost Go struct and the dotted path of JSON names. */
  readonly struct: string
  readonly dotted: string
}

export function decode(type: StructNode, value: Json, issues: DecodeIssues = { unknown: [] }): JsonObject {
  return decodeStruct(type, value, { path: "", struct: "", dotted: "" }, issues)
}

function jsonKind(value: Json): string {
  if (Array.isArray(value)) return "array"
  if (isNumber(value)) return "number"
  if (typeof value === "boolean") return "bool"
  return typeof value === "string" ? "string" : "object"
}

function mismatch(value: Json, go: string, place: Place): never {
  const what =
    typeof value === "number" && !Number.isInteger(value) && /^u?int/.test(go) ? `number ${value}` : jsonKind(value)
  const target =
    place.struct === "" ? `Go value of type ${go}` : `Go struct field ${place.struct}.${place.dotted} of type ${go}`
  throw new DecodeError(`json: cannot unmarshal ${what} into ${target}`)
}

function decodeStruct(type: StructNode, value: Json, place: Place, issues: DecodeIssues): JsonObject {
  if (value !== null && !isObject(value)) mismatch(value, type.go, place)
  const source = value ?? {}
  const decoded = new Map<string, Json>()
  // In document order, so that unknown fields are reported in that order.
  for (const key of Object.keys(source)) {
    const field = type.byName.get(key)
    const path = place.path === "" ? key : `${place.path}.${key}`
    if (field === undefined) issues.unknown.push(path)
    else {
      const dotted = place.dotted === "" ? key : `${place.dotted}.${key}`
      decoded.set(key, decodeNode(field.type, source[key] ?? null, { path, struct: type.short, dotted }, issues))
    }
  }
  const out: JsonObject = {}
  for (const field of type.fields) {
    const present = decoded.get(field.name)
    const result = present === undefined ? zero(field.type, issues) : present
    if (!omitted(field, result)) out[field.name] = result
  }
  return out
}

function omitted(field: FieldDef, value: Json): boolean {
  const node = field.type
  if (field.omitZero && isZero(node, value)) return true
  if (!field.omitEmpty) return false
  switch (node.kind) {
    case "struct":
      return false
    case "special":
      return node.special === "FieldsV1" || node.special === "RawExtension" ? value === null : false
    case "pointer":
    case "any":
      return value === null
    case "string":
    case "bytes":
      return value === "" || value === null
    case "bool":
      return value === false
    case "list":
      return value === null || (Array.isArray(value) && value.length === 0)
    case "map":
      return value === null
    case "int32":
    case "int64":
    case "float":
      return value === 0
    default:
      return node satisfies never
  }
}

function isZero(node: TypeNode, value: Json): boolean {
  if (node.kind === "struct") return isObject(value) && Object.keys(value).length === 0
  return value === null || value === "" || value === 0 || value === false
}

/** Go's zero value of a field without omitempty. Empty lists and maps become nil when they are stored. */
function zero(node: TypeNode, issues: DecodeIssues): Json {
  switch (node.kind) {
    case "string":
      return ""
    case "bool":
      return false
    case "int32":
    case "int64":
    case "float":
      return 0
    case "struct":
      return decodeStruct(node, null, { path: "", struct: "", dotted: "" }, issues)
    case "special":
      if (node.special === "Quantity") return "0"
      if (node.special === "IntOrString") return 0
      return node.special === "Duration" ? "0s" : null
    default:
      return null
  }
}

function decodeNode(node: TypeNode, value: Json, place: Place, issues: DecodeIssues): Json {
  switch (node.kind) {
    case "pointer":
      return value === null ? null : decodeNode(node.elem, value, place, issues)
    case "struct":
      return decodeStruct(node, value, place, issues)
    case "list": {
      if (value === null) return null
      if (!Array.isArray(value)) mismatch(value, node.go, place)
      if (value.length === 0) return issues.keepEmpty === true ? [] : null
      return value.map((item, i) => decodeNode(node.elem, item, { ...place, path: `${place.path}[${i}]` }, issues))
    }
    case "map": {
      if (value === null) return null
      if (!isObject(value)) mismatch(value, node.go, place)
      const keys = Object.keys(value)
      if (keys.length === 0) return null
      const out: JsonObject = {}
      for (const key of keys)
        setKey(
          out,
          key,
          decodeNode(node.elem, getKey(value, key) ?? null, { ...place, path: `${place.path}.${key}` }, issues),
        )
      return out
    }
    case "special":
      return decodeSpecial(node, value, place, issues)
    default:
      return decodeScalar(node, value, place)
  }
}

type ScalarNode = Extract<TypeNode, { kind: "string" | "bool" | "int32" | "int64" | "float" | "bytes" | "any" }>

function decodeScalar(node: ScalarNode, value: Json, place: Place): Json {
  switch (node.kind) {
    case "any":
      return value
    case "string":
      if (value === null) return ""
      return typeof value === "string" ? value : mismatch(value, node.go, place)
    case "bool":
      if (value === null) return false
      return typeof value === "boolean" ? value : mismatch(value, node.go, place)
    case "bytes":
      if (value === null) return ""
      if (typeof value !== "string") mismatch(value, node.go, place)
      return checkBase64(value)
    case "float":
      if (value === null) return 0
      return isNumber(value) ? value : mismatch(value, node.go, place)
    case "int32":
    case "int64": {
      if (value === null) return 0
      if (!isNumber(value)) mismatch(value, node.go, place)
      const fits =
        typeof value === "bigint"
          ? node.kind === "int64"
          : Number.isInteger(value) && (node.kind === "int64" || (value >= -2147483648 && value <= 2147483647))
      if (!fits) {
        const target =
          place.struct === ""
            ? `Go value of type ${node.go}`
            : `Go struct field ${place.struct}.${place.dotted} of type ${node.go}`
        throw new DecodeError(`json: cannot unmarshal number ${value} into ${target}`)
      }
      return value
    }
    default:
      return node.kind satisfies never
  }
}

function checkBase64(text: string): string {
  const clean = text.replace(/[\r\n]/g, "")
  const bad = /[^A-Za-z0-9+/=]/.exec(clean)
  if (bad !== null) throw new DecodeError(`illegal base64 data at input byte ${bad.index}`)
  if (clean.length % 4 !== 0)
    throw new DecodeError(`illegal base64 data at input byte ${clean.length - (clean.length % 4)}`)
  return clean
}

function decodeSpecial(
  node: Extract<TypeNode, { kind: "special" }>,
  value: Json,
  place: Place,
  issues: DecodeIssues,
): Json {
  switch (node.special) {
    case "Time":
    case "MicroTime": {
      if (value === null) return null
      if (typeof value !== "string") mismatch(value, node.special === "Time" ? "string" : "string", place)
      const micro = node.special === "MicroTime"
      const parsed = parseGoTime(value, micro)
      if (typeof parsed === "string") throw new DecodeError(parsed)
      return micro ? printMicroTime(parsed) : printTime(parsed)
    }
    case "Duration":
      if (value === null) return "0s"
      return typeof value === "string" ? value : mismatch(value, "string", place)
    case "Quantity": {
      if (value === null) return "0"
      const text = typeof value === "string" ? value : isNumber(value) ? `${value}` : undefined
      const canonical = text === undefined ? undefined : canonicalQuantity(text)
      if (canonical === undefined) throw new DecodeError(quantityError)
      return canonical
    }
    case "IntOrString":
      if (value === null) return 0
      if (typeof value === "string" || (isNumber(value) && Number.isInteger(Number(value)))) return value
      return mismatch(value, isNumber(value) ? "int32" : "string", place)
    case "FieldsV1":
    case "RawExtension":
    case "JSON":
      return value
    case "SchemaOrBool":
      return typeof value === "boolean" || value === null
        ? value
        : decodeStruct(schemaPropsType(), value, place, issues)
    case "SchemaOrArray":
      if (Array.isArray(value))
        return value.map((item, i) =>
          decodeStruct(schemaPropsType(), item, { ...place, path: `${place.path}[${i}]` }, issues),
        )
      return value === null ? null : decodeStruct(schemaPropsType(), value, place, issues)
    case "SchemaOrStrings":
      return Array.isArray(value) || value === null ? value : decodeStruct(schemaPropsType(), value, place, issues)
    default:
      return node.special satisfies never
  }
}
