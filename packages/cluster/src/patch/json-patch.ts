// SPDX-License-Identifier: Apache-2.0
//
// JSON patch (RFC 6902) with the deviations of the library that Kubernetes uses: replace adds a missing member, copy
// from a missing member sets null, text before the first slash of a pointer is ignored. Stops at the first failure.

import { asString, clone, equal, getKey, isObject, type Json, type JsonObject, setKey } from "../value.js"
import { stringify } from "../wire/json.js"

export class JsonPatchError extends Error {}

const MISSING = "missing value"
/** The total size that copy operations may add. Without a limit, a short patch could double a document repeatedly. */
const MAX_COPIED = 3 * 1024 * 1024

type Container = JsonObject | Json[]

/** Applies all operations or throws. The target is not changed. */
export function jsonPatch(target: Json, operations: readonly Json[]): Json {
  const draft = new Draft(target)
  for (const item of operations) {
    if (!isObject(item)) throw new JsonPatchError("Unexpected kind: unknown")
    apply(draft, item)
  }
  return draft.finish()
}

/** A document that is being changed: each container is copied when it is changed for the first time. */
class Draft {
  readonly #own = new Set<Container>()
  #copied = 0

  constructor(public root: Json) {}

  own(node: Json | undefined, op: string, path: string): Container {
    if (typeof node !== "object" || node === null)
      throw new JsonPatchError(`error in ${op} for path: '${path}': ${MISSING}`)
    if (this.#own.has(node)) return node
    const copy: Container = Array.isArray(node) ? [...node] : copyObject(node)
    this.#own.add(copy)
    return copy
  }

  /** Copies the value, so that changing it in one place does not change the other. */
  copyOf(value: Json): Json {
    this.#copied += stringify(value).length
    if (this.#copied > MAX_COPIED)
      throw new JsonPatchError(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copied}, exceeding the limit ${MAX_COPIED}`,
      )
    return clone(value)
  }

  /** Go prints changed objects with sorted keys, and error messages quote them. */
  finish(): Json {
    for (const container of this.#own) if (!Array.isArray(container)) resort(container)
    return this.root
  }
}

function apply(draft: Draft, operation: JsonObject): void {
  const op = asString(operation.op)
  const path = asString(operation.path)
  const from = asString(operation.from)
  const value = getKey(operation, "value") ?? null
  switch (op) {
    case "add":
      edit(draft, path, op, (parent, key) => insert(parent, key, value, op, path))
      return
    case "replace":
      if (path === "") draft.root = value
      else edit(draft, path, op, (parent, key) => replace(parent, key, value, path))
      return
    case "remove":
      edit(draft, path, op, (parent, key) => remove(parent, key, path))
      return
    case "test":
      if (!equal(lookup(draft.root, path) ?? null, value)) throw new JsonPatchError(`testing value ${path} failed`)
      return
    case "move": {
      const moved = lookup(draft.root, from)
      if (moved === undefined) throw new JsonPatchError(`error in move for path: '${from}': ${MISSING}`)
      edit(draft, from, "remove", (parent, key) => remove(parent, key, from))
      edit(draft, path, op, (parent, key) => insert(parent, key, moved, op, path))
      return
    }
    case "copy": {
      const copied = draft.copyOf(lookup(draft.root, from) ?? null)
      edit(draft, path, op, (parent, key) => insert(parent, key, copied, op, path))
      return
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

/** Copies the containers along the path into the draft and applies the change to the last one. */
function edit(draft: Draft, path: string, op: string, change: (parent: Container, key: string) => void): void {
  const keys = segments(path)
  const last = keys.pop()
  if (last === undefined) throw new JsonPatchError(`error in ${op} for path: '${path}': ${MISSING}`)
  let node = draft.own(draft.root, op, path)
  draft.root = node
  for (const key of keys) {
    let child: Container
    if (Array.isArray(node)) {
      const at = index(key, node.length, true)
      child = draft.own(at === undefined ? undefined : node[at], op, path)
      node[at ?? 0] = child
    } else {
      child = draft.own(getKey(node, key), op, path)
      setKey(node, key, child)
    }
    node = child
  }
  change(node, last)
}

function copyObject(object: JsonObject): JsonObject {
  const out: JsonObject = {}
  for (const key of Object.keys(object)) setKey(out, key, object[key] ?? null)
  return out
}

/** Sorts the keys in place, because the change may have added one. */
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
