// SPDX-License-Identifier: Apache-2.0
//
// The view of types that server-side apply needs: what is a scalar, which maps and lists merge and by which keys. For
// built-in kinds it is built here from the type tables, for custom resources by schema/apply-view.ts from structural
// schemas.

import type { FieldDef, Special, TypeNode } from "../../kinds/type-table.js"
import type { Json } from "../../value.js"

export type ApplyType =
  | { kind: "scalar" }
  /** Any value: objects merge key by key, lists are atomic. */
  | { kind: "untyped" }
  | {
      kind: "map"
      atomic: boolean
      /** Declared fields of a struct. */
      field(name: string): ApplyType | undefined
      /** The type of undeclared members; if undefined, they are rejected. */
      rest: ApplyType | undefined
    }
  | {
      kind: "list"
      relation: "atomic" | "set" | "map"
      keys: readonly string[]
      element: ApplyType
      keyDefault(key: string): Json | undefined
    }

export const scalar: ApplyType = { kind: "scalar" }
export const untyped: ApplyType = { kind: "untyped" }

/** Special types whose value may be an object or a list. */
const OPEN: ReadonlySet<Special> = new Set([
  "RawExtension",
  "FieldsV1",
  "JSON",
  "SchemaOrArray",
  "SchemaOrBool",
  "SchemaOrStrings",
])

const cache = new WeakMap<TypeNode, ApplyType>()

export function applyTypeOf(node: TypeNode, field?: FieldDef): ApplyType {
  if (node.kind === "pointer") return applyTypeOf(node.elem, field)
  if (field === undefined || (node.kind !== "list" && !field.atomic)) {
    const known = cache.get(node)
    if (known !== undefined) return known
    const built = build(node, undefined)
    cache.set(node, built)
    return built
  }
  return build(node, field)
}

function build(node: TypeNode, field: FieldDef | undefined): ApplyType {
  switch (node.kind) {
    case "struct": {
      const fields = new Map<string, ApplyType | undefined>()
      return {
        kind: "map",
        atomic: node.atomic || (field?.atomic ?? false),
        rest: undefined,
        field: name => {
          if (!fields.has(name)) {
            const def = node.byName.get(name)
            fields.set(name, def === undefined ? undefined : applyTypeOf(def.type, def))
          }
          return fields.get(name)
        },
      }
    }
    case "map":
      return { kind: "map", atomic: field?.atomic ?? false, rest: applyTypeOf(node.elem), field: () => undefined }
    case "list": {
      const relation = field?.listType === "set" || field?.listType === "map" ? field.listType : "atomic"
      const element = applyTypeOf(node.elem)
      const struct = node.elem.kind === "pointer" ? node.elem.elem : node.elem
      return {
        kind: "list",
        relation,
        keys: field?.listMapKeys ?? [],
        element,
        keyDefault: key => {
          const declared = struct.kind === "struct" ? struct.byName.get(key)?.declaredDefault : undefined
          return declared === undefined ? undefined : (JSON.parse(declared) as Json)
        },
      }
    }
    case "any":
      return untyped
    case "special":
      return OPEN.has(node.special) ? untyped : scalar
    default:
      return scalar
  }
}
