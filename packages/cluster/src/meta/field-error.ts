// SPDX-License-Identifier: Apache-2.0
//
// Validation errors: a field path, the problem and the value, worded like field.Error of k8s.io/apimachinery. A list of
// them becomes the message and the causes of a 422 Status.

import type { Json } from "../value.js"
import { stringify } from "../wire/json.js"

const types = {
  Required: ["Required value", "FieldValueRequired"],
  Invalid: ["Invalid value", "FieldValueInvalid"],
  TypeInvalid: ["Invalid value", "FieldValueTypeInvalid"],
  Duplicate: ["Duplicate value", "FieldValueDuplicate"],
  NotFound: ["Not found", "FieldValueNotFound"],
  NotSupported: ["Unsupported value", "FieldValueNotSupported"],
  Forbidden: ["Forbidden", "FieldValueForbidden"],
  TooLong: ["Too long", "FieldValueTooLong"],
  TooMany: ["Too many", "FieldValueTooMany"],
  Internal: ["Internal error", "InternalError"],
} as const

export type FieldErrorType = keyof typeof types

export interface FieldError {
  readonly type: FieldErrorType
  readonly field: string
  /** The text after the error type; undefined omits the value. */
  readonly value?: string
  readonly detail: string
}

/** Formats a value as Go prints it in errors: strings quoted, everything else as JSON. */
export function printValue(value: Json): string {
  return typeof value === "string" ? goQuote(value) : stringify(value)
}

/** Go's strconv.Quote. */
export function goQuote(text: string): string {
  let out = '"'
  for (const c of text) {
    const code = c.codePointAt(0) ?? 0
    if (c === '"' || c === "\\") out += `\\${c}`
    else if (c === "\n") out += "\\n"
    else if (c === "\t") out += "\\t"
    else if (c === "\r") out += "\\r"
    else if (code < 32 || code === 127) out += `\\x${code.toString(16).padStart(2, "0")}`
    else if (code === 0x2028 || code === 0x2029 || code === 0xfeff) out += `\\u${code.toString(16)}`
    else out += c
  }
  return `${out}"`
}

export const required = (field: string, detail = ""): FieldError => ({ type: "Required", field, detail })
export const forbidden = (field: string, detail: string): FieldError => ({ type: "Forbidden", field, detail })
export const invalid = (field: string, value: Json, detail: string): FieldError => ({
  type: "Invalid",
  field,
  value: printValue(value),
  detail,
})
export const duplicate = (field: string, value: Json): FieldError => ({
  type: "Duplicate",
  field,
  value: printValue(value),
  detail: "",
})
export const notFoundValue = (field: string, value: Json): FieldError => ({
  type: "NotFound",
  field,
  value: printValue(value),
  detail: "",
})
export const tooLong = (field: string, max: number): FieldError => ({
  type: "TooLong",
  field,
  detail: `may not be more than ${max} bytes`,
})
export const tooMany = (field: string, actual: number, max: number): FieldError => ({
  type: "TooMany",
  field,
  value: `${actual}`,
  detail: `must have at most ${max} item${max === 1 ? "" : "s"}`,
})
export const notSupported = (field: string, value: Json, supported: readonly string[]): FieldError => ({
  type: "NotSupported",
  field,
  value: printValue(value),
  detail: `supported values: ${supported.map(goQuote).join(", ")}`,
})

export function errorBody(error: FieldError): string {
  const head = types[error.type][0]
  const value = error.value === undefined ? head : `${head}: ${error.value}`
  return error.detail === "" ? value : `${value}: ${error.detail}`
}

export function errorText(error: FieldError): string {
  return `${error.field}: ${errorBody(error)}`
}

export function errorReason(error: FieldError): string {
  return types[error.type][1]
}

/** A single message as it is, several in brackets without duplicates. */
export function aggregate(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(errorText))]
  return texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`
}
