// SPDX-License-Identifier: Apache-2.0
// Reads a tree of JSON from the network into typed values. Strict: what has another form, is longer than it may be or has
// a field nobody knows is refused as a whole, since a field we ignore might have narrowed what we would do.

import type { ResourceCode } from "./errors.js"

export class MalformedJson extends Error {
  override readonly name = "MalformedJson"

  constructor(
    readonly code: ResourceCode,
    message: string,
  ) {
    super(message)
  }
}

export type Read<T> = (value: unknown, path: string) => T

const SHOWN = 60

export function text(maximum: number): Read<string> {
  return (value, path) => {
    if (typeof value === "string" && value.length <= maximum) return value
    throw wrong(path, `must be a text of at most ${maximum} characters`, value)
  }
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

export function list<T>(maximum: number, read: Read<T>): Read<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length > maximum)
      throw wrong(path, `must be a list of at most ${maximum}`, value)
    return value.map((item, index) => read(item, `${path}[${index}]`))
  }
}

export function record<T>(maximum: number, read: Read<T>): Read<{ readonly [key: string]: T }> {
  return (value, path) => {
    const entries = Object.entries(plainObject(value, path))
    if (entries.length > maximum) throw wrong(path, `must have at most ${maximum} entries`, value)
    // Without a prototype: a key called `__proto__` is a key like any other.
    const result: { [key: string]: T } = Object.create(null)
    for (const [key, item] of entries) result[key] = read(item, `${path}.${key.slice(0, SHOWN)}`)
    return result
  }
}

type Fields<T> = { readonly [K in keyof T]-?: Read<T[K]> }

export function object<T extends object>(fields: Fields<T>): Read<T> {
  const read = openObject(fields)
  return (value, path) => {
    for (const name of Object.keys(plainObject(value, path))) {
      if (!Object.hasOwn(fields, name))
        throw new MalformedJson("malformed-resource", `${path}: unknown field \`${name.slice(0, SHOWN)}\``)
    }
    return read(value, path)
  }
}

/** For what a newer writer may extend: a field nobody knows is left out. */
export function openObject<T extends object>(fields: Fields<T>): Read<T> {
  const readers = new Map<string, Read<unknown>>(Object.entries(fields))
  return (value, path) => {
    const given = plainObject(value, path)
    const result: { [name: string]: unknown } = {}
    for (const [name, read] of readers) {
      const item = read(Object.hasOwn(given, name) ? given[name] : undefined, path === "" ? name : `${path}.${name}`)
      if (item !== undefined) result[name] = item
    }
    return result as T // each field was read by the reader of that field
  }
}

export function parseJson<T>(json: string, read: Read<T>): T {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw new MalformedJson("malformed-resource", "is not JSON")
  }
  return read(value, "")
}

function plainObject(value: unknown, path: string): { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(path, "must be a mapping", value)
  return value as { readonly [name: string]: unknown } // any object can be read by name
}

function wrong(path: string, wanted: string, value: unknown): MalformedJson {
  const found = value === undefined ? "it is missing" : `it is ${JSON.stringify(value)?.slice(0, SHOWN)}`
  return new MalformedJson("malformed-resource", `${path || "the value"}: ${wanted}; ${found}`)
}
