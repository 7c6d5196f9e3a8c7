// SPDX-License-Identifier: Apache-2.0
// JSON values in the API server: integers beyond 2^53 are bigints, so that 64-bit fields survive. Stored objects are
// shared between requests and treated as immutable; clone an object before changing it.

export type Json = null | boolean | number | bigint | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

export function asArray(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

export function asString(value: Json | undefined): string {
  return typeof value === "string" ? value : ""
}

/** A scalar as text; empty for objects and lists. */
export function scalarText(value: Json | undefined): string {
  return value === undefined || value === null || typeof value === "object" ? "" : String(value)
}

export function asStrings(value: Json | undefined): string[] {
  return asArray(value).filter((item): item is string => typeof item === "string")
}

export function clone<T extends Json>(value: T): T {
  if (Array.isArray(value)) return value.map(clone) as T
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const key of Object.keys(value)) setKey(out, key, clone(value[key] ?? null))
  return out as T
}

/** Assigns an own property even for `__proto__`, which user documents may contain. */
export function setKey(target: JsonObject, key: string, value: Json): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

export function getKey(target: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(target, key) ? target[key] : undefined
}

export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (isObject(a)) {
    if (!isObject(b)) return false
    const keys = Object.keys(a)
    return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && equal(a[key], b[key]))
  }
  // -0 and 0 are the same JSON number, as are a bigint and an equal number.
  return (
    isNumber(a) &&
    isNumber(b) &&
    Number(a) === Number(b) &&
    BigInt(Math.trunc(Number(a))) === BigInt(Math.trunc(Number(b))) &&
    typeof a === typeof b
  )
}

export function isNumber(value: Json | undefined): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint"
}

export function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === false) return true
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0
}

/** The value at a path of object keys. */
export function dig(value: Json | undefined, ...path: string[]): Json | undefined {
  let node = value
  for (const key of path) {
    if (!isObject(node)) return undefined
    node = getKey(node, key)
  }
  return node
}

/** A copy whose object keys are sorted at every level, as Go prints maps. */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const key of Object.keys(value).sort()) setKey(out, key, sorted(value[key] ?? null))
  return out
}
