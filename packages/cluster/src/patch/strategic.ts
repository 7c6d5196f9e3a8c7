// SPDX-License-Identifier: Apache-2.0
//
// Strategic merge patch for built-in kinds: lists merge by the key their type declares, and the directives $patch,
// $retainKeys, $setElementOrder and $deleteFromPrimitiveList work as in Kubernetes. The target is not changed.

import type { FieldDef, TypeNode } from "../kinds/type-table.js"
import { asArray, asStrings, clone, equal, getKey, isObject, type Json, type JsonObject, setKey } from "../value.js"

export class StrategicError extends Error {}

const DIRECTIVE = "$patch"
const RETAIN = "$retainKeys"
const ORDER = "$setElementOrder/"
const DELETE = "$deleteFromPrimitiveList/"

export function strategicMerge(target: JsonObject, patch: JsonObject, type: TypeNode): JsonObject {
  return mergeMap(clone(target), clone(patch), type)
}

/** Formats a value like Go's %v, which error messages quote. */
function goPrint(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(goPrint).join(" ")}]`
  if (isObject(value))
    return `map[${Object.keys(value)
      .sort()
      .map(key => `${key}:${goPrint(value[key] ?? null)}`)
      .join(" ")}]`
  return value === null ? "<nil>" : `${value}`
}

const noMergeKey = (item: Json, key: string): StrategicError =>
  new StrategicError(`map: ${goPrint(item)} does not contain declared merge key: ${key}`)
const badPatchType = (directive: Json, item: Json): StrategicError =>
  new StrategicError(`unknown patch type: ${goPrint(directive)} in map: ${goPrint(item)}`)

function unwrap(type: TypeNode | undefined): TypeNode | undefined {
  return type?.kind === "pointer" ? unwrap(type.elem) : type
}

interface Member {
  readonly type: TypeNode | undefined
  readonly merge: boolean
  readonly key: string
}

function memberOf(type: TypeNode | undefined, name: string): Member {
  const node = unwrap(type)
  if (node?.kind === "map") return { type: node.elem, merge: false, key: "" }
  const field: FieldDef | undefined = node?.kind === "struct" ? node.byName.get(name) : undefined
  return { type: field?.type, merge: field?.patchStrategy.includes("merge") ?? false, key: field?.patchMergeKey ?? "" }
}

function mergeMap(original: JsonObject, patch: JsonObject, type: TypeNode | undefined): JsonObject {
  const directive = getKey(patch, DIRECTIVE)
  if (directive !== undefined) {
    if (directive === "replace") {
      delete patch[DIRECTIVE]
      return patch
    }
    if (directive === "delete") return {}
    throw badPatchType(directive, patch)
  }
  retainKeys(original, patch)
  applyOrder(original, patch, type)
  for (const [rawKey, change] of Object.entries(patch)) {
    const deleting = rawKey.startsWith(DELETE)
    const key = deleting ? rawKey.slice(DELETE.length) : rawKey
    if (change === null) {
      delete original[key]
      continue
    }
    const current = getKey(original, key)
    const member = memberOf(type, key)
    if (isObject(current) && isObject(change) && !deleting)
      setKey(original, key, mergeMap(current, change, member.type))
    else if (Array.isArray(current) && Array.isArray(change))
      setKey(original, key, member.merge || deleting ? mergeList(current, change, member, deleting) : change)
    else if (!deleting) {
      const kept = withoutDirectives(withoutNulls(change))
      if (kept === undefined) delete original[key]
      else setKey(original, key, kept)
    }
  }
  return original
}

function retainKeys(original: JsonObject, patch: JsonObject): void {
  const retain = getKey(patch, RETAIN)
  if (retain === undefined) return
  delete patch[RETAIN]
  if (!Array.isArray(retain)) throw new StrategicError("invalid patch format of retainKeys")
  const keep = new Set(asStrings(retain))
  for (const key of Object.keys(patch))
    if (!key.startsWith("$") && patch[key] !== null && !keep.has(key))
      throw new StrategicError("invalid patch format of retainKeys")
  for (const key of Object.keys(original)) if (!keep.has(key)) delete original[key]
}

/** Applies $setElementOrder: merges the list, then puts its elements in that order. */
function applyOrder(original: JsonObject, patch: JsonObject, type: TypeNode | undefined): void {
  for (const directive of Object.keys(patch).filter(key => key.startsWith(ORDER))) {
    const order = asArray(patch[directive])
    delete patch[directive]
    const key = directive.slice(ORDER.length)
    const member = memberOf(type, key)
    const current = getKey(original, key)
    const change = getKey(patch, key)
    if (current === undefined && change === undefined) continue
    const before = asArray(current)
    const merged =
      change === undefined
        ? before
        : current === undefined
          ? asArray(withoutDirectives(change))
          : mergeList(before, asArray(change), member, false)
    setKey(original, key, reorder(merged, order, before, member.key))
    delete patch[key]
  }
}

function mergeList(original: Json[], patch: Json[], member: Member, deleting: boolean): Json[] {
  const sample = original[0] ?? patch[0]
  if (!isObject(sample)) {
    if (deleting) return original.filter(item => !patch.some(other => equal(item, other)))
    const merged = [...original]
    for (const item of patch) if (!merged.some(other => equal(other, item))) merged.push(item)
    return reorder(merged, patch, original, "")
  }
  const key = member.key
  if (key === "") throw new StrategicError(`cannot merge lists without merge key for ${member.type?.go ?? "list"}`)
  const element = unwrap(member.type)
  const elementType = element?.kind === "list" ? element.elem : undefined
  let base = [...original]
  const plain: JsonObject[] = []
  let replace = false
  for (const item of patch) {
    if (!isObject(item)) throw noMergeKey(item, key)
    const directive = getKey(item, DIRECTIVE)
    if (directive === undefined) plain.push(item)
    else if (directive === "replace") replace = true
    else if (directive === "delete") {
      const id = getKey(item, key)
      if (id === undefined) throw noMergeKey(item, key)
      base = base.filter(other => !(isObject(other) && equal(getKey(other, key), id)))
    } else if (directive === "merge") throw new StrategicError("merging lists cannot yet be specified in the patch")
    else throw badPatchType(directive, item)
  }
  if (replace) return plain
  const merged: Json[] = [...base]
  for (const item of plain) {
    const id = getKey(item, key)
    if (id === undefined) throw noMergeKey(item, key)
    const at = merged.findIndex(other => isObject(other) && equal(getKey(other, key), id))
    const found = merged[at]
    if (isObject(found)) merged[at] = mergeMap(found, item, elementType)
    else merged.push(withoutNulls(item))
  }
  return reorder(merged, plain, base, key)
}

/**
 * Puts elements of the patch in its order and the others in the server's order. If their relative order is open, the
 * element of the patch comes first.
 */
function reorder(merged: Json[], patchOrder: readonly Json[], serverOrder: readonly Json[], key: string): Json[] {
  const id = (item: Json): Json => (key !== "" && isObject(item) ? (getKey(item, key) ?? null) : item)
  const position = (list: readonly Json[], item: Json): number => list.findIndex(other => equal(id(other), id(item)))
  const byOrder = (list: readonly Json[]) => (a: Json, b: Json) => position(list, a) - position(list, b)
  const right = merged.filter(item => position(patchOrder, item) >= 0).sort(byOrder(patchOrder))
  const left = merged.filter(item => position(patchOrder, item) < 0).sort(byOrder(serverOrder))
  const out: Json[] = []
  let i = 0
  let j = 0
  while (i < left.length || j < right.length) {
    const l = left[i]
    const r = right[j]
    if (l === undefined || r === undefined) {
      const rest = l === undefined ? r : l
      if (l === undefined) j++
      else i++
      if (rest !== undefined) out.push(rest)
      continue
    }
    const li = position(serverOrder, l)
    const ri = position(serverOrder, r)
    if (li >= 0 && ri >= 0 && li < ri) {
      out.push(l)
      i++
    } else {
      out.push(r)
      j++
    }
  }
  return out
}

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const [key, item] of Object.entries(value)) if (item !== null) setKey(out, key, withoutNulls(item))
  return out
}

/**
 * Returns the patch without its directives, for when there is nothing to merge with; undefined if it is only a
 * directive.
 */
function withoutDirectives(value: Json): Json | undefined {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item): item is Json => item !== undefined)
  if (!isObject(value)) return value
  const directive = getKey(value, DIRECTIVE)
  if (directive === "delete") return undefined
  const out: JsonObject = {}
  let dropped = directive !== undefined
  for (const [key, item] of Object.entries(value)) {
    if (key.startsWith("$")) {
      dropped = true
      continue
    }
    const kept = withoutDirectives(item)
    if (kept !== undefined) setKey(out, key, kept)
  }
  return dropped && directive !== "replace" && Object.keys(out).length === 0 ? undefined : out
}
