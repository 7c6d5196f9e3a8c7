// SPDX-License-Identifier: Apache-2.0
// Reads values from a server: a value of the wrong type reads as empty.

export type Fields = { readonly [field: string]: unknown }

const NONE: Fields = {}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : NONE
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}

/** The string fields of an object. All other fields are omitted. */
export function textsOf(value: unknown): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(fieldsOf(value)).flatMap(([name, item]) => (typeof item === "string" ? [[name, item]] : [])),
  )
}
