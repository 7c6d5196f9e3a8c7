// SPDX-License-Identifier: Apache-2.0
//
// JSON patch (RFC 6902) with the liberties of the library Kubernetes uses: replace of a missing member adds it, copy
// from a missing member sets null, a pointer's text before the first slash is ignored. Stops at the first failure.

import { asString, equal, getKey, isObject, type Json, type JsonObject, setKey } from "../value.js"

export class JsonPatchError extends Error {}

const MISSING = "missing value"

type Container = JsonObject | Json[]

/** Applies all operations or throws; the target is not changed. */
export function jsonPatch(target: Json, operations: readonly Json[]): Json {
  let document = target
  for (const item of operations) {
    if (!isObject(item)) throw new JsonPatchError("Unexpected kind: unknown")
    document = applyOne(document, item)
  }
  return document
}

function applyOne(document: Json, operation: JsonObject): Json {
  const op = asString(operation.op)
  const path = asString(operation.path)
  const value = getKey(operation, "value") ?? null
  switch (op) {
    case "add":
      return edit(document, path, op, (parent, key) => insert(parent, key, value, op, path))
    case "replace":
      if (path === "") return value
      return edit(document, path, op, (parent, key) => replace(parent, key, value, path))
    case "remove":
      return edit(document, path, op, (parent, key) => remove(parent, key, path))
    case "test": {
      const found = lookup(document, path)
      if (!equal(found ?? null, value)) throw new JsonPatchError(`testing value ${path} failed`)
      return document
    }
    case "move": {
      const from = asString(operation.from)
      const moved = lookup(document, from)
      if (moved === undefined) throw new JsonPatchError(`error in move for path: '${from}': ${MISSING}`)
      const without = edit(document, from, "remove", (parent, key) => remove(parent, key, from))
      return edit(without, path, op, (parent, key) => insert(parent, key, moved, op, path))
    }
    case "copy": {
      const copied = lookup(document, asString(operation.from)) ?? null
      return edit(document, path, op, (parent, key) => insert(parent, key, copied, op, path))
    }
    default:
      throw new JsonPatchError(`Unexpected kind: ${op === "" ? "unknown" : op}`)
  }
}

function segments(path: string): string[] {
  return path
    .split("/")
    .slice(1)
    .map(part => part.replaceAll("~1", "/").replaceAll("~0", "~"))
}

function lookup(document: Json, path: string): Json | undefined {
  let node: Json | undefined = document
  for (const key of segments(path)) {
    if (Array.isArray(node)) node = node[index(key, node.length, false) ?? -1]
    else if (isObject(node)) node = getKey(node, key)
    else return undefined
  }
  return node
}

function index(key: string, length: number, negative: boolean): number | undefined {
  if (!/^-?\d+$/.test(key)) return undefined
  const at = Number(key)
  if (at < 0) return negative && -at <= length ? at + length : undefined
  return at
}

/** Copies the containers along the path, in Go's sorted order, and lets the change work on the last one. */
function edit(document: Json, path: string, op: string, change: (parent: Container, key: string) => void): Json {
  const keys = segments(path)
  const last = keys.pop()
  if (last === undefined) throw new JsonPatchError(`error in ${op} for path: '${path}': ${MISSING}`)
  const copy = (node: Json | undefined): Container => {
    if (Array.isArray(node)) return [...node]
    if (!isObject(node)) throw new JsonPatchError(`error in ${op} for path: '${path}': ${MISSING}`)
    const out: JsonObject = {}
    for (const key of Object.keys(node).sort()) setKey(out, key, node[key] ?? null)
    return out
  }
  const root = copy(document)
  let node: Container = root
  for (const key of keys) {
    let child: Container
    if (Array.isArray(node)) {
      const at = index(key, node.length, true)
      child = copy(at === undefined ? undefined : node[at])
      node[at ?? 0] = child
    } else {
      child = copy(getKey(node, key))
      setKey(node, key, child)
    }
    node = child
  }
  change(node, last)
  if (!Array.isArray(node)) resort(node)
  return root
}

/** Sorted again in place, since the change may have added a key. */
function resort(object: JsonObject): void {
  const entries = Object.keys(object)
    .sort()
    .map((key): [string, Json] => [key, object[key] ?? null])
  for (const [key] of entries) delete object[key]
  for (const [key, value] of entries) setKey(object, key, value)
}

function insert(parent: Container, key: string, value: Json, op: string, path: string): void {
  if (!Array.isArray(parent)) {
    setKey(parent, key, value)
    return
  }
  if (key === "-") {
    parent.push(value)
    return
  }
  const at = index(key, parent.length + 1, true)
  if (at === undefined || at > parent.length)
    throw new JsonPatchError(
      `error in ${op} for path: '${path}': Unable to access invalid index: ${key}: invalid index referenced`,
    )
  parent.splice(at, 0, value)
}

function replace(parent: Container, key: string, value: Json, path: string): void {
  if (!Array.isArray(parent)) {
    setKey(parent, key, value)
    return
  }
  const at = index(key, parent.length, true)
  if (at === undefined || at >= parent.length)
    throw new JsonPatchError(`replace operation does not apply: doc is missing key: ${path}: missing value`)
  parent[at] = value
}

function remove(parent: Container, key: string, path: string): void {
  if (Array.isArray(parent)) {
    const at = index(key, parent.length, true)
    if (at === undefined || at >= parent.length)
      throw new JsonPatchError(
        `error in remove for path: '${path}': Unable to access invalid index: ${key}: invalid index referenced`,
      )
    parent.splice(at, 1)
  } else {
    if (!Object.hasOwn(parent, key))
      throw new JsonPatchError(
        `error in remove for path: '${path}': Unable to remove nonexistent key: ${key}: ${MISSING}`,
      )
    delete parent[key]
  }
}
