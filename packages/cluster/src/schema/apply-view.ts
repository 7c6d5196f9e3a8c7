// SPDX-License-Identifier: Apache-2.0
// A custom resource's type for server-side apply: its structural schema with the list and map types that it declares.

import { objectMetaType } from "../kinds/type-table.js"
import { type ApplyType, applyTypeOf, scalar, untyped } from "../patch/apply/apply-type.js"
import type { Schema } from "./structural.js"

export function customApplyType(schema: Schema | undefined): ApplyType {
  const body = schema === undefined ? untyped : view(schema)
  return {
    kind: "map",
    atomic: false,
    rest: body.kind === "map" ? body.rest : untyped,
    field: name => {
      if (name === "apiVersion" || name === "kind") return scalar
      if (name === "metadata") return applyTypeOf(objectMetaType())
      return body.kind === "map" ? body.field(name) : undefined
    },
  }
}

const views = new WeakMap<Schema, ApplyType>()

function view(schema: Schema): ApplyType {
  const known = views.get(schema)
  if (known !== undefined) return known
  const built = build(schema)
  views.set(schema, built)
  return built
}

function build(schema: Schema): ApplyType {
  if (schema.intOrString) return scalar
  if (schema.type === "object") {
    const meta = schema.embedded ? new Set(["apiVersion", "kind", "metadata"]) : new Set<string>()
    const open = schema.preserveUnknown || schema.additional === true
    return {
      kind: "map",
      atomic: schema.atomicMap,
      rest: typeof schema.additional === "object" ? view(schema.additional) : open ? untyped : undefined,
      field: name => {
        const inner = schema.properties.get(name)
        return inner !== undefined ? view(inner) : meta.has(name) ? untyped : undefined
      },
    }
  }
  if (schema.type === "array") {
    const items = schema.items
    return {
      kind: "list",
      relation: schema.listType,
      keys: schema.listMapKeys,
      element: items === undefined ? untyped : view(items),
      keyDefault: key => items?.properties.get(key)?.default,
    }
  }
  return schema.type === "" ? untyped : scalar
}
