// SPDX-License-Identifier: Apache-2.0
// Sets of field paths, as server-side apply stores them in metadata.managedFields (FieldsV1). A path element is kept in
// its serialized form (`f:name`, `k:{...}`, `v:...`), so equality is string equality.

import { isObject, type Json, type JsonObject } from "../../value.js"
import { parseTrusted } from "../../wire/json.js"

export type PathElement = string

export class FieldSet {
  readonly members = new Set<PathElement>()
  readonly children = new Map<PathElement, FieldSet>()

  static fromJson(value: Json | undefined): FieldSet {
    const set = new FieldSet()
    if (!isObject(value)) return set
    for (const [element, inner] of Object.entries(value)) {
      if (element === ".") continue
      const child = FieldSet.fromJson(inner)
      const keys = isObject(inner) ? Object.keys(inner) : []
      if (keys.length === 0 || keys.includes(".")) set.members.add(element)
      if (!child.isEmpty()) set.children.set(element, child)
    }
    return set
  }

  toJson(): JsonObject {
    const out: JsonObject = {}
    for (const element of [...new Set([...this.members, ...this.children.keys()])].sort(compareElements)) {
      const child = this.children.get(element)
      const inner = child === undefined ? {} : child.toJson()
      out[element] = this.members.has(element) && child !== undefined ? { ".": {}, ...inner } : inner
    }
    return out
  }

  isEmpty(): boolean {
    return this.members.size === 0 && this.children.size === 0
  }

  insert(path: readonly PathElement[]): void {
    const [element, ...rest] = path
    if (element === undefined) return
    if (rest.length === 0) this.members.add(element)
    else this.descend(element).insert(rest)
  }

  descend(element: PathElement): FieldSet {
    let child = this.children.get(element)
    if (child === undefined) {
      child = new FieldSet()
      this.children.set(element, child)
    }
    return child
  }

  union(other: FieldSet): FieldSet {
    const out = new FieldSet()
    for (const element of [...this.members, ...other.members]) out.members.add(element)
    for (const element of new Set([...this.children.keys(), ...other.children.keys()])) {
      const a = this.children.get(element)
      const b = other.children.get(element)
      out.children.set(element, a !== undefined && b !== undefined ? a.union(b) : (a ?? b ?? new FieldSet()))
    }
    return out
  }

  intersection(other: FieldSet): FieldSet {
    const out = new FieldSet()
    for (const element of this.members) if (other.members.has(element)) out.members.add(element)
    for (const [element, child] of this.children) {
      const both = other.children.get(element)?.intersection(child)
      if (both !== undefined && !both.isEmpty()) out.children.set(element, both)
    }
    return out
  }

  difference(other: FieldSet): FieldSet {
    const out = new FieldSet()
    for (const element of this.members) if (!other.members.has(element)) out.members.add(element)
    for (const [element, child] of this.children) {
      const against = other.children.get(element)
      const rest = against === undefined ? child : child.difference(against)
      if (!rest.isEmpty()) out.children.set(element, rest)
    }
    return out
  }

  /** Removes the paths of the other set and everything below them. */
  recursiveDifference(other: FieldSet): FieldSet {
    const out = new FieldSet()
    for (const element of this.members) if (!other.members.has(element)) out.members.add(element)
    for (const [element, child] of this.children) {
      if (other.members.has(element)) continue
      const against = other.children.get(element)
      const rest = against === undefined ? child : child.recursiveDifference(against)
      if (!rest.isEmpty()) out.children.set(element, rest)
    }
    return out
  }

  equals(other: FieldSet): boolean {
    return this.difference(other).isEmpty() && other.difference(this).isEmpty()
  }

  paths(prefix = ""): string[] {
    const out: string[] = []
    for (const element of [...new Set([...this.members, ...this.children.keys()])].sort(compareElements)) {
      const here = `${prefix}${printElement(element)}`
      if (this.members.has(element)) out.push(here)
      const child = this.children.get(element)
      if (child !== undefined) out.push(...child.paths(here))
    }
    return out
  }
}

function compareElements(a: PathElement, b: PathElement): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Formats an element as conflicts show it: `.name`, `[key="value"]` or `["value"]`. */
function printElement(element: PathElement): string {
  const text = element.slice(2)
  switch (element[0]) {
    case "f":
      return `.${text}`
    case "k": {
      const keys = parseTrusted(text)
      const parts = isObject(keys) ? Object.entries(keys).map(([key, value]) => `${key}=${JSON.stringify(value)}`) : []
      return `[${parts.join(",")}]`
    }
    case "v":
      return `[=${text}]`
    default:
      return `[${text}]`
  }
}
