// SPDX-License-Identifier: Apache-2.0
// OpenAPI schemas of types: built-in types from their tables, custom resources from their structural schemas. What
// version 2 cannot express is omitted, as in Kubernetes.

import { enumOf } from "../kinds/enums.js"
import { type FieldDef, knownType, type StructNode, type TypeNode, typeNamed } from "../kinds/type-table.js"
import type { CustomKind } from "../registry/custom-kind.js"
import { asArray, asObject, asString, isObject, type Json, type JsonObject } from "../value.js"

export type Flavour = "v2" | "v3"

const META = "io.k8s.apimachinery.pkg.apis.meta.v1"

export function refTo(name: string, flavour: Flavour): string {
  return flavour === "v2" ? `#/definitions/${name}` : `#/components/schemas/${name}`
}

/** Permitted values are added both as `enum` and, for readers, to the description. */
function withValues(property: JsonObject, values: readonly string[] | undefined): JsonObject {
  if (values === undefined) return property
  const { items, additionalProperties } = property
  const valued = isObject(items) ? items : isObject(additionalProperties) ? additionalProperties : property
  valued.enum = [...values]
  if (valued !== property) return property
  const listed = ["Possible enum values:", ...values.map(value => ` - \`${JSON.stringify(value)}\``)].join("\n")
  const description = property.description
  return { ...property, description: typeof description === "string" ? `${description}\n\n${listed}` : listed }
}

/** Collects the names of referenced types, so that a document contains exactly the definitions that it needs. */
export class SchemaWriter {
  readonly referenced = new Set<string>()
  constructor(readonly flavour: Flavour) {}

  reference(name: string): JsonObject {
    this.referenced.add(name)
    return { $ref: refTo(name, this.flavour) }
  }

  struct(type: StructNode): JsonObject {
    const properties: JsonObject = {}
    const required: string[] = []
    for (const field of [...type.fields].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const property = this.field(field)
      properties[field.name] = withValues(property, enumOf(type.name, field.name))
      if (field.required && field.name !== "metadata") required.push(field.name)
    }
    const out: JsonObject = {}
    if (type.doc !== "") out.description = type.doc
    out.type = "object"
    if (required.length > 0) out.required = required
    if (type.fields.length > 0) out.properties = properties
    if (type.atomic) out["x-kubernetes-map-type"] = "atomic"
    return out
  }

  field(field: FieldDef): JsonObject {
    const inner = this.node(field.type)
    const out: JsonObject = {}
    if (field.doc !== "") out.description = field.doc
    const declared = defaultOf(field)
    if (declared !== undefined && this.flavour === "v3") out.default = declared
    if (inner.$ref !== undefined && this.flavour === "v3" && Object.keys(out).length > 0) out.allOf = [inner]
    else Object.assign(out, inner)
    if (field.listType !== "") out["x-kubernetes-list-type"] = field.listType
    if (field.listMapKeys.length > 0) out["x-kubernetes-list-map-keys"] = [...field.listMapKeys]
    if (field.atomic && field.type.kind !== "list") out["x-kubernetes-map-type"] = "atomic"
    if (field.patchStrategy.length > 0) out["x-kubernetes-patch-strategy"] = field.patchStrategy.join(",")
    if (field.patchMergeKey !== "") out["x-kubernetes-patch-merge-key"] = field.patchMergeKey
    return out
  }

  node(node: TypeNode): JsonObject {
    switch (node.kind) {
      case "pointer":
        return this.node(node.elem)
      case "string":
        return { type: "string" }
      case "bool":
        return { type: "boolean" }
      case "int32":
      case "int64":
        return { type: "integer", format: node.kind }
      case "float":
        return { type: "number", format: "double" }
      case "bytes":
        return { type: "string", format: "byte" }
      case "any":
        return { type: "object" }
      case "list":
        return { type: "array", items: this.element(node.elem) }
      case "map":
        return { type: "object", additionalProperties: this.element(node.elem) }
      case "struct":
      case "special":
        return this.reference(node.name)
      default:
        return node satisfies never
    }
  }

  element(node: TypeNode): JsonObject {
    const inner = this.node(node)
    if (this.flavour === "v2") return inner
    if (inner.$ref !== undefined && node.kind === "struct") return { default: {}, allOf: [inner] }
    return inner
  }

  named(name: string): JsonObject {
    const special = specials[name.slice(name.lastIndexOf(".") + 1)]
    if (special !== undefined && !name.includes(".api.core.")) return special(this.flavour)
    return knownType(name) ? this.struct(typeNamed(name)) : { type: "object" }
  }
}

function defaultOf(field: FieldDef): Json | undefined {
  if (field.declaredDefault !== undefined) return JSON.parse(field.declaredDefault) as Json
  if (field.type.kind === "struct") return {}
  if (field.required && field.type.kind === "string") return ""
  if (field.required && (field.type.kind === "int32" || field.type.kind === "int64")) return 0
  return field.required && field.type.kind === "bool" ? false : undefined
}

const specials: Record<string, (flavour: Flavour) => JsonObject> = {
  Time: () => ({
    description:
      "Time is a wrapper around time.Time which supports correct marshaling to YAML and JSON.  Wrappers are provided for many of the factory methods that the time package offers.",
    type: "string",
    format: "date-time",
  }),
  MicroTime: () => ({
    description: "MicroTime is version of Time with microsecond level precision.",
    type: "string",
    format: "date-time",
  }),
  Duration: () => ({ description: "Duration is a wrapper around time.Duration", type: "string" }),
  FieldsV1: () => ({ description: typeDoc(`${META}.FieldsV1`), type: "object" }),
  RawExtension: () => ({ description: typeDoc("io.k8s.apimachinery.pkg.runtime.RawExtension"), type: "object" }),
  IntOrString: flavour => ({
    description: typeDoc("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
    ...(flavour === "v2" ? { type: "string" } : { oneOf: [{ type: "integer" }, { type: "string" }] }),
    format: "int-or-string",
  }),
  Quantity: flavour => ({
    description: typeDoc("io.k8s.apimachinery.pkg.api.resource.Quantity"),
    ...(flavour === "v2" ? { type: "string" } : { oneOf: [{ type: "string" }, { type: "number" }] }),
  }),
  JSON: () => ({
    description:
      "JSON represents any valid JSON value. These types are supported: bool, int64, float64, string, []interface{}, map[string]interface{} and nil.",
  }),
  JSONSchemaPropsOrArray: () => ({
    description:
      "JSONSchemaPropsOrArray represents a value that can either be a JSONSchemaProps or an array of JSONSchemaProps. Mainly here for serialization purposes.",
  }),
  JSONSchemaPropsOrBool: () => ({
    description:
      "JSONSchemaPropsOrBool represents JSONSchemaProps or a boolean value. Defaults to true for the boolean property.",
  }),
  JSONSchemaPropsOrStringArray: () => ({
    description: "JSONSchemaPropsOrStringArray represents a JSONSchemaProps or a string array.",
  }),
  Patch: () => ({
    description: "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.",
    type: "object",
  }),
}

function typeDoc(name: string): string {
  return docs[name] ?? ""
}

const docs: Record<string, string> = {
  [`${META}.FieldsV1`]: "FieldsV1 stores a set of fields in a data structure like a Trie, in JSON format.",
  "io.k8s.apimachinery.pkg.runtime.RawExtension": "RawExtension is used to hold extensions in external versions.",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString is a type that can hold an int32 or a string.",
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity is a fixed-point representation of a number.",
}

export function gvk(group: string, version: string, kind: string): JsonObject {
  return { group, kind, version }
}

/** For example `dev.merlon.security.v1alpha3.AuthorizationPolicy`: the reversed group, version and kind. */
export function customName(kind: CustomKind, suffix = ""): string {
  const { group, version } = kind.info
  return `${group.split(".").reverse().join(".")}.${version}.${kind.info.kind}${suffix}`
}

const API_VERSION =
  "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
const KIND =
  "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
const OBJECT_META =
  "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
const LIST_META =
  "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"

export function customSchema(kind: CustomKind, writer: SchemaWriter): JsonObject {
  const raw = kind.schema?.raw ?? { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const own = asObject(writer.flavour === "v2" ? toV2(raw, true) : toV3(raw))
  const meta = writer.reference(`${META}.ObjectMeta`)
  const properties: JsonObject = {
    ...asObject(own.properties),
    apiVersion: { description: API_VERSION, type: "string" },
    kind: { description: KIND, type: "string" },
    metadata:
      writer.flavour === "v2" ? { description: OBJECT_META, ...meta } : { description: OBJECT_META, allOf: [meta] },
  }
  const bare = writer.flavour === "v2" && raw["x-kubernetes-preserve-unknown-fields"] === true
  const out: JsonObject = bare ? { type: "object" } : { ...own, properties }
  return {
    ...out,
    "x-kubernetes-group-version-kind": [gvk(kind.info.group, kind.info.version, kind.info.kind)],
    ...selectable(kind),
  }
}

function selectable(kind: CustomKind): JsonObject {
  const version = asArray(asObject(kind.crd.spec).versions)
    .map(asObject)
    .find(item => item.name === kind.info.version)
  const fields = asArray(version?.selectableFields).map(
    (field): JsonObject => ({ fieldPath: asString(asObject(field).jsonPath).replace(/^\./, "") }),
  )
  return fields.length === 0 ? {} : { "x-kubernetes-selectable-fields": fields }
}

export function customListSchema(kind: CustomKind, writer: SchemaWriter): JsonObject {
  const meta = writer.reference(`${META}.ListMeta`)
  return {
    description: `${kind.info.listKind} is a list of ${kind.info.kind}`,
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: { description: API_VERSION, type: "string" },
      items: {
        description: `List of ${kind.info.plural}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md`,
        type: "array",
        items: { $ref: refTo(customName(kind), writer.flavour) },
      },
      kind: { description: KIND, type: "string" },
      metadata:
        writer.flavour === "v2" ? { description: LIST_META, ...meta } : { description: LIST_META, allOf: [meta] },
    },
    "x-kubernetes-group-version-kind": [gvk(kind.info.group, kind.info.version, kind.info.listKind)],
    ...selectable(kind),
  }
}

/** Adds `anyOf` to int-or-string fields for readers that do not know the extension. */
function toV3(schema: JsonObject): JsonObject {
  const out: JsonObject = { ...schema }
  if (isObject(schema.properties))
    out.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, inner]) => [name, toV3(asObject(inner))]),
    )
  for (const key of ["items", "additionalProperties"]) {
    const inner = schema[key]
    if (isObject(inner)) out[key] = toV3(inner)
  }
  if (schema["x-kubernetes-int-or-string"] === true && schema.anyOf === undefined && schema.allOf === undefined)
    out.anyOf = [{ type: "integer" }, { type: "string" }]
  return out
}

/** Omits what OpenAPI 2 cannot express: defaults, junctors, nullable, preserved unknown fields. */
function toV2(schema: JsonObject, root: boolean): JsonObject {
  const out: JsonObject = {}
  const free = schema["x-kubernetes-preserve-unknown-fields"] === true
  for (const [key, value] of Object.entries(schema)) {
    if (["default", "anyOf", "oneOf", "allOf", "not", "nullable"].includes(key)) continue
    if (free && !root && ["properties", "required", "items", "type", "additionalProperties"].includes(key)) continue
    if (key === "properties")
      out.properties = Object.fromEntries(
        Object.entries(asObject(value)).map(([name, inner]) => [name, toV2(asObject(inner), false)]),
      )
    else if (
      (key === "items" || key === "additionalProperties") &&
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value)
    )
      out[key] = toV2(value, false)
    else out[key] = value
  }
  if (schema.nullable === true) {
    delete out.type
    delete out.items
    delete out.properties
  }
  return out
}
