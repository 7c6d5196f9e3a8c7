// SPDX-License-Identifier: Apache-2.0
// Building blocks of columns: a cell from a field, with the documentation of that field.

import { knownType, typeNamed } from "../kinds/type-table.js"
import type { Column } from "../registry/kind.js"
import { printSelector, selectorFromObject } from "../selectors/label.js"
import { asArray, asObject, asString, dig, isNumber, type Json, type JsonObject } from "../value.js"
import { metaDoc } from "./custom-columns.js"
import { ageOf } from "./duration.js"

export type Cell = Column["cell"]

export function doc(type: string, field: string): string {
  return knownType(type) ? (typeNamed(type).byName.get(field)?.doc ?? "") : ""
}

export const CORE = "io.k8s.api.core.v1."
export const APPS = "io.k8s.api.apps.v1."

export function column(name: string, type: string, description: string, cell: Cell, priority = 0, format = ""): Column {
  return { name, type, format, description, priority, cell }
}

export const text =
  (...path: string[]): Cell =>
  object =>
    asString(dig(object, ...path))
export const orNone =
  (...path: string[]): Cell =>
  object =>
    asString(dig(object, ...path)) || "<none>"
export const count =
  (...path: string[]): Cell =>
  object => {
    const value = dig(object, ...path)
    return isNumber(value) ? value : 0
  }
export const size =
  (...path: string[]): Cell =>
  object => {
    const value = dig(object, ...path)
    return Array.isArray(value) ? value.length : Object.keys(asObject(value)).length
  }

export const age = (): Column =>
  column("Age", "string", metaDoc("creationTimestamp"), (object, now) =>
    ageOf(dig(object, "metadata", "creationTimestamp"), now),
  )

export const containers = (of: (object: JsonObject) => Json | undefined): Column[] => {
  const each = (field: string) => (object: JsonObject) =>
    asArray(dig(of(object), "spec", "containers"))
      .map(container => asString(asObject(container)[field]))
      .join(",")
  return [
    column("Containers", "string", "Names of each container in the template.", each("name"), 1),
    column("Images", "string", "Images referenced by each container in the template.", each("image"), 1),
  ]
}
export const template = (object: JsonObject): Json | undefined => dig(object, "spec", "template")

export function labels(value: Json | undefined): string {
  const entries = Object.entries(asObject(value)).map(([key, item]) => `${key}=${asString(item)}`)
  return entries.length === 0 ? "<none>" : entries.sort().join(",")
}

export const selector = (type: string): Column =>
  column(
    "Selector",
    "string",
    doc(type, "selector"),
    object => {
      const parsed = selectorFromObject(dig(object, "spec", "selector"))
      return parsed === undefined || parsed.length === 0 ? "<none>" : printSelector(parsed)
    },
    1,
  )
