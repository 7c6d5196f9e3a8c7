// SPDX-License-Identifier: Apache-2.0
// Strict reading. A field that is not known here could change what a policy means, so it is never skipped.

import { parseAllDocuments } from "yaml"

export class Invalid extends Error {
  override readonly name = "Invalid"
}

export type Fields = { readonly [name: string]: unknown }

export function fields(value: unknown, where: string, known: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Invalid(`${where} is no object`)
  for (const name of Object.keys(value))
    if (!known.includes(name)) throw new Invalid(`${where} has \`${name}\`, which is not known`)
  return { ...Object.fromEntries(known.map(name => [name, undefined])), ...value }
}

export function list(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Invalid(`${where} is no list`)
  return value
}

export function text(value: unknown, where: string): string {
  if (typeof value !== "string") throw new Invalid(`${where} is no text`)
  return value
}

export const texts = (value: unknown, where: string): readonly string[] =>
  value === undefined ? [] : list(value, where).map(one => text(one, where))

/** A map of texts, as labels. */
export const pairs = (value: unknown, where: string): readonly (readonly [string, string])[] =>
  Object.entries(fields(value ?? {}, where, Object.keys(value ?? {}))).map(([name, one]) => [name, text(one, where)])

/** As YAML 1.2, whatever the text says: a `%YAML 1.1` line would change what values mean, and so would a tag that is not known. */
export function documentsIn(yaml: string, where: string): readonly unknown[] {
  const documents = parseAllDocuments(yaml, { schema: "core", version: "1.2", merge: false })
  return ("empty" in documents ? [] : documents).map(document => {
    for (const { message } of [...document.errors, ...document.warnings]) throw new Invalid(`${where}: ${message}`)
    return document.toJS()
  })
}

/** JSON with sorted names and no blanks. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join()}}`
}
