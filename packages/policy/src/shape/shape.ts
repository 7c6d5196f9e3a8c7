// SPDX-License-Identifier: Apache-2.0
// Parses a tree of plain values, from the network or a file, into typed ones. Strict: a value with the wrong type, an
// excessive length or an unknown field is rejected as a whole, since an ignored field might have narrowed the result.
// Every error names the field, the actual value and the expected form.

import { nearest } from "./nearest.js"

export class ShapeError extends Error {
  override readonly name = "ShapeError"

  constructor(
    /** Whether the value of a field is wrong, or the field itself is unknown. */
    readonly about: "value" | "field",
    message: string,
  ) {
    super(message)
  }
}

export type Read<T> = (value: unknown, path: string) => T

const SHOWN = 80

export function text(maximum: number, minimum = 0): Read<string> {
  const wanted = `must be a text of ${minimum === 0 ? "at most" : `${minimum} to`} ${maximum} characters`
  return (value, path) => {
    if (typeof value === "string" && value.length >= minimum && value.length <= maximum) return value
    throw wrong(path, wanted, value)
  }
}

/** For files that people write, whose total size is limited. */
export const someText: Read<string> = (value, path) => {
  if (typeof value === "string" && value !== "") return value
  throw wrong(path, "must be a text", value)
}

export function whole(minimum: number, maximum: number): Read<number> {
  return (value, path) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= minimum && value <= maximum) return value
    throw wrong(path, `must be a whole number from ${minimum} to ${maximum}`, value)
  }
}

export const flag: Read<boolean> = (value, path) => {
  if (typeof value === "boolean") return value
  throw wrong(path, "must be true or false", value)
}

export function choice<const T extends string>(...values: readonly T[]): Read<T> {
  return (value, path) => {
    const found = values.find(candidate => candidate === value)
    if (found !== undefined) return found
    throw wrong(path, `must be one of ${values.join(", ")}`, value)
  }
}

export function optional<T>(read: Read<T>): Read<T | undefined> {
  return (value, path) => (value === undefined ? undefined : read(value, path))
}

export function orElse<T>(read: Read<T>, fallback: T): Read<T> {
  return (value, path) => (value === undefined ? fallback : read(value, path))
}

export function list<T>(maximum: number, read: Read<T>): Read<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length > maximum)
      throw wrong(path, `must be a list of at most ${maximum}`, value)
    return value.map((item, index) => read(item, `${path}[${index}]`))
  }
}

export function record<T>(maximum: number, read: Read<T>): Read<{ readonly [key: string]: T }> {
  return (value, path) => {
    const entries = Object.entries(mappingOf(value, path))
    if (entries.length > maximum) throw wrong(path, `must have at most ${maximum} entries`, value)
    // Without a prototype, so that `__proto__` is an ordinary key.
    const result: { [key: string]: T } = Object.create(null)
    for (const [key, item] of entries) result[key] = read(item, within(path, key))
    return result
  }
}

/** An optional field that is absent is read as undefined. */
type Fields<T> = { readonly [K in keyof T]-?: Read<Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K]> }

export function object<T extends object>(fields: Fields<T>): Read<T> {
  const read = openObject(fields)
  return (value, path) => {
    rejectUnknown(mappingOf(value, path), fields, path)
    return read(value, path)
  }
}

/** For objects that a newer version may extend: unknown fields are dropped. */
export function openObject<T extends object>(fields: Fields<T>): Read<T> {
  const readers = new Map<string, Read<unknown>>(Object.entries(fields))
  // Each field was read by the reader of that field.
  return (value, path) => fieldsOf(mappingOf(value, path), readers, path) as T
}

interface Readers {
  readonly [name: string]: Read<unknown>
}

type Maybe<F extends Readers> = { [K in keyof F]: undefined extends ReturnType<F[K]> ? K : never }[keyof F]

type Settings<F extends Readers> = {
  readonly [K in Exclude<keyof F, Maybe<F>>]: ReturnType<F[K]>
} & { readonly [K in Maybe<F>]?: Exclude<ReturnType<F[K]>, undefined> }

/** For files that people write: an absent mapping is empty, and a blank field counts as absent. */
export function settings<const F extends Readers>(fields: F): Read<Settings<F>> {
  const readers = new Map(Object.entries(fields))
  return (value, path) => {
    const given = mappingOf(value ?? {}, path)
    rejectUnknown(given, fields, path)
    const filled = Object.fromEntries(Object.entries(given).filter(([, item]) => item !== null))
    return fieldsOf(filled, readers, path) as Settings<F> // each by its reader
  }
}

export function wrong(path: string, wanted: string, value: unknown): ShapeError {
  const found = value === undefined ? "it is missing" : `it is ${JSON.stringify(value)?.slice(0, SHOWN)}`
  return new ShapeError("value", `${path || "the value"}: ${wanted}; ${found}`)
}

function fieldsOf(given: Given, readers: ReadonlyMap<string, Read<unknown>>, path: string): object {
  const result: { [name: string]: unknown } = {}
  for (const [name, read] of readers) {
    const item = read(Object.hasOwn(given, name) ? given[name] : undefined, within(path, name))
    if (item !== undefined) result[name] = item
  }
  return result
}

function rejectUnknown(given: Given, fields: object, path: string): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(fields, name)) continue
    const known = Object.keys(fields)
    const meant = nearest(name, known)
    const hint = meant === undefined ? `the fields are ${known.join(", ")}` : `did you mean \`${meant}\`?`
    throw new ShapeError("field", `${within(path, name)}: unknown field; ${hint}`)
  }
}

interface Given {
  readonly [name: string]: unknown
}

function mappingOf(value: unknown, path: string): Given {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(path, "must be a mapping", value)
  return value as Given // any object can be read by name
}

function within(path: string, name: string): string {
  return path === "" ? name.slice(0, SHOWN) : `${path}.${name.slice(0, SHOWN)}`
}
