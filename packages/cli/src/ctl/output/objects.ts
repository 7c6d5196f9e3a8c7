// SPDX-License-Identifier: Apache-2.0
// Objects as JSON and YAML like kubectl's, with sorted keys. managedFields are left out unless requested: they are longer
// than the rest.

import { stringify } from "yaml"
import type { AnyObject } from "../catalog/resource.js"

/** Quotes text that YAML 1.1 would not read as text: kubectl and many others use that version. */
const YAML_STYLE = { version: "1.1", indentSeq: false, lineWidth: 0, aliasDuplicateObjects: false } as const

export function formatObject(format: "json" | "yaml", value: unknown): string {
  const ordered = sorted(value)
  return format === "json" ? `${JSON.stringify(ordered, undefined, 4)}\n` : stringify(ordered, YAML_STYLE)
}

/** A single object, or several as a List. */
export function formatObjects(format: "json" | "yaml", objects: readonly AnyObject[], alone: boolean): string {
  const [first] = objects
  if (alone && objects.length === 1 && first !== undefined) return formatObject(format, first)
  return formatObject(format, { apiVersion: "v1", items: objects, kind: "List", metadata: { resourceVersion: "" } })
}

export function withoutManagedFields(object: AnyObject): AnyObject {
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  )
}
