// SPDX-License-Identifier: Apache-2.0
// Operations on values with their types, modelled on structured-merge-diff: list the fields of a value, compare two
// values, merge them, and remove fields. All functions are pure.

import { equal, getKey, isObject, type Json, type JsonObject, setKey } from "../../value.js"
import { stringify } from "../../wire/json.js"
import { type ApplyType, untyped } from "./apply-type.js"
import { FieldSet, type PathElement } from "./field-set.js"

export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

class TypedError extends Error {}

type MapType = Extract<ApplyType, { kind: "map" }>
type ListType = Extract<ApplyType, { kind: "list" }>

const freeMap: MapType = { kind: "map", atomic: false, field: () => undefined, rest: untyped }
const freeList: ListType = { kind: "list", relation: "atomic", keys: [], element: untyped, keyDefault: () => undefined }

/** An untyped value gets a type that fits its form. */
function settle(type: ApplyType, value: Json | undefined): ApplyType {
  if (type.kind !== "untyped") return type
  if (Array.isArray(value)) return freeList
  return isObject(value) ? freeMap : { kind: "scalar" }
}

function memberType(type: MapType, key: string): ApplyType {
  return type.field(key) ?? type.rest ?? untyped
}

const fieldElement = (name: string): PathElement => `f:${name}`

function listElement(type: ListType, item: Json, index: number, path: string): PathElement {
  if (type.relation === "set") {
    if (isObject(item) || Array.isArray(item))
      throw new TypedError(
        `${path}: element ${index}: associative list without keys has an element that's a ${Array.isArray(item) ? "list" : "map"} type`,
      )
    return `v:${stringify(item)}`
  }
  if (!isObject(item))
    throw new TypedError(`${path}: element ${index}: associative list with keys may not have non-map elements`)
  const keys: JsonObject = {}
  for (const key of [...type.keys].sort()) {
    const value = getKey(item, key) ?? type.keyDefault(key)
    if (value !== undefined) keys[key] = value
  }
  if (Object.keys(keys).length === 0)
    throw new TypedError(
      `${path}: element ${index}: associative list with keys has an element that omits all key fields [${type.keys.map(k => JSON.stringify(k)).join(" ")}] (and doesn't have default values for any key fields)`,
    )
  return `k:${stringify(keys)}`
}

function elementsOf(type: ListType, list: readonly Json[]): PathElement[] {
  return list.map((item, i) => listElement(type, item, i, ""))
}

/** Validates a document against its type: undeclared fields and invalid list keys, with Kubernetes' wording. */
export function validateTyped(type: ApplyType, value: Json, path = ""): string[] {
  const settled = settle(type, value)
  if (settled.kind === "map" && isObject(value))
    return Object.entries(value).flatMap(([key, item]) => {
      const inner = settled.field(key) ?? settled.rest
      return inner === undefined
        ? [`${path}.${key}: field not declared in schema`]
        : validateTyped(inner, item, `${path}.${key}`)
    })
  if (settled.kind === "map" && value !== null) return [`${path}: expected map, got &{${goValue(value)}}`]
  if (settled.kind === "list" && Array.isArray(value)) {
    if (settled.relation === "atomic")
      return value.flatMap((item, i) => validateTyped(settled.element, item, `${path}[${i}]`))
    const seen = new Set<PathElement>()
    return value.flatMap((item, i) => {
      try {
        const element = listElement(settled, item, i, path)
        if (seen.has(element)) return [`${path}: duplicate entries for key ${printKey(element)}`]
        seen.add(element)
        return validateTyped(settled.element, item, `${path}${printKey(element)}`)
      } catch (error) {
        if (error instanceof TypedError) return [error.message]
        throw error
      }
    })
  }
  if (settled.kind === "list" && value !== null) return [`${path}: expected list, got &{${goValue(value)}}`]
  if (settled.kind === "scalar" && (isObject(value) || Array.isArray(value)))
    return [`${path}: expected scalar, got &{${goValue(value)}}`]
  return []
}

function goValue(value: Json): string {
  return isObject(value) || Array.isArray(value) ? stringify(value) : `${value}`
}

function printKey(element: PathElement): string {
  const text = element.slice(2)
  if (element[0] === "v") return `[=${text}]`
  const keys = JSON.parse(text) as JsonObject
  return `[${Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(",")}]`
}

/** The paths of all fields that the value sets. */
export function toFieldSet(type: ApplyType, value: Json): FieldSet {
  const set = new FieldSet()
  collect(type, value, set, undefined)
  return set
}

function collect(type: ApplyType, value: Json, parent: FieldSet, element: PathElement | undefined): void {
  const settled = settle(type, value)
  const here = element === undefined ? parent : undefined
  const self = (): void => {
    if (element !== undefined) parent.members.add(element)
  }
  if (settled.kind === "map") {
    if (settled.atomic) self()
    else if (isObject(value)) {
      const set = here ?? new FieldSet()
      for (const [key, item] of Object.entries(value)) {
        collect(memberType(settled, key), item, set, fieldElement(key))
        if (item === null || (isObject(item) && Object.keys(item).length === 0) || settled.field(key) === undefined)
          set.members.add(fieldElement(key))
      }
      if (element !== undefined && !set.isEmpty()) parent.children.set(element, set)
    }
  } else if (settled.kind === "list") {
    if (settled.relation === "atomic") self()
    else if (Array.isArray(value)) {
      const set = here ?? new FieldSet()
      for (const [i, name] of elementsOf(settled, value).entries()) {
        collect(settled.element, value[i] ?? null, set, name)
        set.members.add(name)
      }
      if (element !== undefined && !set.isEmpty()) parent.children.set(element, set)
    }
  } else self()
}

export function compare(type: ApplyType, before: Json, after: Json): Comparison {
  const out: Comparison = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() }
  compareNode(type, before, after, [], out)
  return out
}

function isBlank(value: Json | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    (isObject(value) ? Object.keys(value).length === 0 : Array.isArray(value) && value.length === 0)
  )
}

function compareNode(
  type: ApplyType,
  before: Json | undefined,
  after: Json | undefined,
  path: PathElement[],
  out: Comparison,
): void {
  const left = settle(type, before ?? after)
  const right = settle(type, after ?? before)
  let leaf = compareAs(left, before, after, path, out)
  if (left.kind !== right.kind) leaf = compareAs(right, before, after, path, out)
  if (leaf || path.length === 0) return
  if (before === undefined) out.added.insert(path)
  else if (after === undefined) out.removed.insert(path)
}

function compareAs(
  type: ApplyType,
  before: Json | undefined,
  after: Json | undefined,
  path: PathElement[],
  out: Comparison,
): boolean {
  const asLeaf = (): boolean => {
    if (path.length === 0) return true
    if (before === undefined) out.added.insert(path)
    else if (after === undefined) out.removed.insert(path)
    else if (!equal(before, after)) out.modified.insert(path)
    return true
  }
  if (type.kind === "map") {
    if (type.atomic || (isBlank(before) && isBlank(after))) return asLeaf()
    const a = isObject(before) ? before : {}
    const b = isObject(after) ? after : {}
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
      compareNode(memberType(type, key), getKey(a, key), getKey(b, key), [...path, fieldElement(key)], out)
    return false
  }
  if (type.kind === "list") {
    if (type.relation === "atomic" || (isBlank(before) && isBlank(after))) return asLeaf()
    const a = indexed(type, before)
    const b = indexed(type, after)
    for (const element of new Set([...a.keys(), ...b.keys()]))
      compareNode(type.element, a.get(element), b.get(element), [...path, element], out)
    return false
  }
  return asLeaf()
}

function indexed(type: ListType, value: Json | undefined): Map<PathElement, Json> {
  const list = Array.isArray(value) ? value : []
  const out = new Map<PathElement, Json>()
  for (const [i, item] of list.entries()) out.set(listElement(type, item, i, ""), item)
  return out
}

/** On conflict the right value wins; maps and keyed lists merge. */
export function merge(type: ApplyType, left: Json | undefined, right: Json | undefined): Json {
  if (right === undefined) return left ?? null
  if (left === undefined) return right
  const settled = settle(type, right)
  if (settled.kind === "map" && !settled.atomic && isObject(left) && isObject(right)) {
    const out: JsonObject = {}
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)]))
      setKey(out, key, merge(memberType(settled, key), getKey(left, key), getKey(right, key)))
    return out
  }
  if (settled.kind === "list" && settled.relation !== "atomic" && Array.isArray(left) && Array.isArray(right))
    return mergeLists(settled, left, right)
  return right
}

/** Items of the left list keep their place; common and new items follow the order of the right list. */
function mergeLists(type: ListType, left: Json[], right: Json[]): Json[] {
  const a = elementsOf(type, left)
  const b = elementsOf(type, right)
  const inRight = new Set(b)
  const byLeft = new Map(a.map((element, i) => [element, left[i]]))
  const shared = b.filter(element => byLeft.has(element))
  const out: Json[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    const l = a[i]
    const r = b[j]
    if (l !== undefined && !inRight.has(l)) {
      out.push(left[i] ?? null)
      i++
    } else if (l !== undefined && r !== undefined && l !== r && shared[0] !== l) i++
    else if (r !== undefined) {
      out.push(merge(type.element, byLeft.get(r), right[j]))
      j++
      if (l === r) i++
      if (shared[0] === r) shared.shift()
    } else i++
  }
  return out
}

/** Removes the listed items from the value. */
export function removeItems(type: ApplyType, value: Json, remove: FieldSet): Json {
  const settled = settle(type, value)
  if (settled.kind === "map" && !settled.atomic && isObject(value)) {
    const out: JsonObject = {}
    for (const [key, item] of Object.entries(value)) {
      const element = fieldElement(key)
      if (remove.members.has(element)) continue
      const child = remove.children.get(element)
      setKey(out, key, child === undefined ? item : removeItems(memberType(settled, key), item, child))
    }
    return out
  }
  if (settled.kind === "list" && settled.relation !== "atomic" && Array.isArray(value)) {
    const names = elementsOf(settled, value)
    return value.flatMap((item, i) => {
      const element = names[i] ?? ""
      if (remove.members.has(element)) return []
      const child = remove.children.get(element)
      return [child === undefined ? item : removeItems(settled.element, item, child)]
    })
  }
  return value
}

/** Adds declared struct fields that have children in the set as members. */
export function withNamedFields(type: ApplyType, set: FieldSet): FieldSet {
  const out = new FieldSet()
  for (const element of set.members) out.members.add(element)
  for (const [element, child] of set.children) {
    const name = element.slice(2)
    const isField = element[0] === "f"
    const inner =
      type.kind === "map" && isField ? memberType(type, name) : type.kind === "list" ? type.element : untyped
    if (type.kind === "map" && isField && type.field(name) !== undefined) out.members.add(element)
    out.children.set(element, withNamedFields(inner, child))
  }
  return out
}
