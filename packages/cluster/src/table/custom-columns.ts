// SPDX-License-Identifier: Apache-2.0
//
// Printer columns of custom resources: the name, then the columns that the CRD declares by JSON path, or the age if it
// declares none.

import { typeNamed } from "../kinds/type-table.js"
import type { Column } from "../registry/kind.js"
import { asArray, asObject, asString, dig, isNumber, type Json, type JsonObject } from "../value.js"
import { stringify } from "../wire/json.js"
import { ageOf } from "./duration.js"
import { evaluatePath } from "./json-path.js"

export function metaDoc(field: string): string {
  return typeNamed("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").byName.get(field)?.doc ?? ""
}

export function nameColumn(): Column {
  return {
    name: "Name",
    type: "string",
    format: "name",
    description: metaDoc("name"),
    priority: 0,
    cell: object => asString(dig(object, "metadata", "name")),
  }
}

export function customColumns(version: JsonObject): Column[] {
  const declared = asArray(version.additionalPrinterColumns).map(asObject)
  if (declared.length === 0) {
    const cell = (object: JsonObject, now: number): Json => ageOf(dig(object, "metadata", "creationTimestamp"), now)
    return [
      nameColumn(),
      { name: "Age", type: "date", format: "", description: metaDoc("creationTimestamp"), priority: 0, cell },
    ]
  }
  return [nameColumn(), ...declared.map(customColumn)]
}

function customColumn(column: JsonObject): Column {
  const type = asString(column.type)
  const path = asString(column.jsonPath)
  const text = asString(column.description)
  return {
    name: asString(column.name),
    type,
    format: asString(column.format),
    description: text === "" ? `Custom resource definition column (in JSONPath format): ${path}` : text,
    priority: typeof column.priority === "number" ? column.priority : 0,
    cell: (object, now) => cellOf(evaluatePath(object, path), type, now),
  }
}

function cellOf(found: Json[], type: string, now: number): Json {
  const [value] = found
  if (value === undefined || value === null) return null
  switch (type) {
    case "integer":
      if (isNumber(value)) return typeof value === "number" ? Math.trunc(value) : value
      return null
    case "number":
      return isNumber(value) ? value : null
    case "boolean":
      return typeof value === "boolean" ? value : null
    case "date":
      return typeof value === "string" ? (Number.isNaN(Date.parse(value)) ? "<invalid>" : ageOf(value, now)) : null
    default:
      return typeof value === "string" ? value : stringify(value)
  }
}
