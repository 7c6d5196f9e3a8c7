// SPDX-License-Identifier: Apache-2.0
// The Table form of an object, a list or a watch event, and the metadata-only forms. The client's Accept header decides
// which one it gets.

import { metaOf } from "../meta/object-meta.js"
import type { Kind } from "../registry/kind.js"
import type { Json, JsonObject } from "../value.js"
import { hasOwnTable } from "./builtin-columns.js"

export type IncludeObject = "None" | "Metadata" | "Object"

export function partialMetadata(object: JsonObject, version = "v1"): JsonObject {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata: metaOf(object) }
}

export interface TableParts {
  readonly objects: readonly JsonObject[]
  readonly metadata: JsonObject
  readonly includeObject: IncludeObject
  readonly withColumns: boolean
  readonly version: string
  readonly isList: boolean
  readonly now: number
}

export function renderTable(kind: Kind, parts: TableParts): JsonObject {
  const rows = parts.objects.map((object): JsonObject => {
    const cells: Json[] = kind.columns().map(column => column.cell(object, parts.now))
    const attached =
      parts.includeObject === "None"
        ? null
        : parts.includeObject === "Object"
          ? object
          : partialMetadata(object, parts.version)
    return { cells, object: attached }
  })
  const empty = rows.length === 0 && kind.builtin && !hasOwnTable(kind.info.kind)
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${parts.version}`,
    metadata: parts.metadata,
    columnDefinitions: parts.withColumns
      ? kind.columns().map(
          ({ name, type, format, description, priority }): JsonObject => ({
            name,
            type,
            format,
            description,
            priority,
          }),
        )
      : null,
    rows: empty ? null : rows,
  }
}
