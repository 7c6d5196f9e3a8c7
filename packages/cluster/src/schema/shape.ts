// SPDX-License-Identifier: Apache-2.0
// Converts a custom resource to its schema: unknown fields are removed (and reported), nulls are dropped where not
// allowed, defaults are filled in. Values are copied, never changed in place.

import { clone, getKey, isObject, type Json, type JsonObject, setKey } from "../value.js"
import type { Schema } from "./structural.js"

/** Removes fields that are not in the schema and adds their paths to `pruned`. */
export function prune(schema: Schema, value: Json, pruned: string[], root = true, path = ""): Json {
  if (Array.isArray(value)) {
    const items = schema.items
    if (items === undefined) return value
    return value.map((item, i) => prune(items, item, pruned, false, `${path}[${i}]`))
  }
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const key of Object.keys(value)) {
    const item = value[key] ?? null
    const here = path === "" ? key : `${path}.${key}`
    const known = schema.properties.get(key)
    if ((root || schema.embedded) && (key === "apiVersion" || key === "kind" || key === "metadata"))
      setKey(out, key, item)
    else if (known !== undefined) setKey(out, key, prune(known, item, pruned, false, here))
    else if (typeof schema.additional === "object")
      setKey(out, key, prune(schema.additional, item, pruned, false, here))
    else if (schema.additional === true || schema.preserveUnknown) setKey(out, key, item)
    else pruned.push(here)
  }
  return out
}

export function applyDefaults(schema: Schema, value: Json): Json {
  if (Array.isArray(value)) {
    const items = schema.items
    return items === undefined
      ? value
      : value.map(item =>
          item === null && !items.nullable && items.default !== undefined
            ? clone(items.default)
            : applyDefaults(items, item),
        )
  }
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const key of Object.keys(value)) {
    const item = value[key] ?? null
    const inner = schema.properties.get(key) ?? (typeof schema.additional === "object" ? schema.additional : undefined)
    if (inner === undefined) setKey(out, key, item)
    else if (item === null && !inner.nullable && inner.type !== "") {
      if (inner.default !== undefined) setKey(out, key, applyDefaults(inner, clone(inner.default)))
    } else setKey(out, key, applyDefaults(inner, item))
  }
  for (const [key, inner] of schema.properties)
    if (getKey(out, key) === undefined && !Object.hasOwn(value, key) && inner.default !== undefined)
      setKey(out, key, applyDefaults(inner, clone(inner.default)))
  return out
}
