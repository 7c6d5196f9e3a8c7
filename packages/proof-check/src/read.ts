// SPDX-License-Identifier: Apache-2.0
// Strict reading. An unknown field could change what a policy means, so none is ever skipped.

import { parseAllDocuments } from "yaml"

export class Invalid extends Error {
  override readonly name = "Invalid"
}

/** Adds the place to an error. Any error makes the certificate invalid. */
export function within<T>(where: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw new Invalid(where + (error instanceof Error ? error.message : String(error)))
  }
}

export type Fields = { readonly [name: string]: unknown }

export const MAX_STEPS = 200_000_000
let left = MAX_STEPS

/** Counts work. A certificate is untrusted input and must not keep its reader busy for hours. */
export function spend(steps: number): void {
  left -= steps
  if (left < 0) throw new Invalid("checking it takes too many steps; certify fewer workloads at once")
}

export function startSpending(steps: number): void {
  left = steps
}

export function fields(value: unknown, where: string, known?: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Invalid(`${where} is no object`)
  const unknown = Object.keys(value).find(name => known?.includes(name) === false)
  if (unknown !== undefined) throw new Invalid(`${where} has \`${unknown}\`, which is not known`)
  return value as Fields // as just tested
}

export function list(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Invalid(`${where} is no list`)
  return value
}

export function text(value: unknown, where: string): string {
  if (typeof value !== "string") throw new Invalid(`${where} is no text`)
  return value
}

/** A Kubernetes name: nothing in it can be confused with the text around it. */
export function dnsName(value: unknown, where: string): string {
  const name = text(value, where)
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)) throw new Invalid(`${where}: ${canonical(name)} is no name`)
  return name
}

export function oneOf<T>(value: unknown, choices: readonly T[], where: string): T {
  const found = choices.find(one => one === value)
  if (found === undefined) throw new Invalid(`${where} has ${canonical(value)}, which is not known`)
  return found
}

export const texts = (value: unknown, where: string): readonly string[] =>
  value === undefined ? [] : list(value, where).map(one => text(one, where))

/** A map of texts, such as labels. */
export const pairs = (value: unknown, where: string): readonly (readonly [string, string])[] =>
  Object.entries(fields(value ?? {}, where)).map(([name, one]) => [name, text(one, where)])

export function integer(value: unknown, where: string, least: number, most: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most)
    throw new Invalid(`${where} is no whole number from ${least} to ${most}`)
  return value
}

/** A port in a policy. */
export function port(value: string, where: string): string {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw new Invalid(`${where}: \`${value}\` is no port`)
  return String(Number(value))
}

/** Always parsed as YAML 1.2: `%YAML 1.1` or an unknown tag would change the meaning of values. */
export function documentsIn(yaml: string, where: string): readonly unknown[] {
  const documents = parseAllDocuments(yaml, { schema: "core", version: "1.2", merge: false, stringKeys: true })
  return ("empty" in documents ? [] : documents).flatMap(document => {
    for (const { message } of [...document.errors, ...document.warnings]) throw new Invalid(`${where}: ${message}`)
    return itemsOf(document.toJS(), where)
  })
}

/**
 * The items of a plain list or of a Kubernetes list (an object without a name whose kind ends in `List`), also when
 * nested.
 */
function itemsOf(value: unknown, where: string): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(item => itemsOf(item, where))
  const { apiVersion, items, kind, metadata } = (value ?? {}) as Fields // what is missing is undefined
  const [, ofKind] = /^(.*)List$/s.exec(String(kind)) ?? []
  if (ofKind === undefined || !Array.isArray(items) || (metadata as Fields | null)?.name !== undefined) return [value]
  // Items of a `PodList` do not repeat their kind.
  const whole = (item: unknown) => (ofKind === "" ? item : { apiVersion, kind: ofKind, ...fields(item, where) })
  return items.flatMap(item => itemsOf(whole(item), where))
}

/** JSON with sorted names and without whitespace. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join()}}`
}
