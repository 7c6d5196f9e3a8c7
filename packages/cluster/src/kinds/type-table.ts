// SPDX-License-Identifier: Apache-2.0
//
// The types of built-in kinds, resolved from the generated table: each struct with its fields in Go's order, and for
// every field what decoding, defaulting, patching, apply and documentation need. Types are resolved lazily, because
// types such as JSONSchemaProps contain themselves.

import { table } from "./data.js"

/** A field in the generated table. Keys are short because there are thousands of fields. */
export interface RawField {
  /** JSON name; empty when the fields of the type are inlined. */
  readonly j: string
  /** Type expression: string, int32, []T, map[string]T, *T, @full.name. */
  readonly t: string
  /** 1: omitempty, 2: omitzero, 3: both. */
  readonly o?: number
  /** Protobuf field number. */
  readonly p?: number
  /** Patch strategy and merge key. */
  readonly ps?: string
  readonly pk?: string
  /** List type, list map keys, struct or map type. */
  readonly lt?: string
  readonly lk?: readonly string[]
  readonly st?: string
  /** Declared default, as JSON. */
  readonly def?: string
  readonly req?: number
}

export interface RawTypeDef {
  readonly go: string
  readonly f?: readonly RawField[]
  /** The underlying type of a named non-struct type. */
  readonly u?: string
  readonly st?: string
}

const types = table<Readonly<Record<string, RawTypeDef>>>("types")
/** Descriptions by type and field; the description of the type itself has an empty name. */
const docs = table<Readonly<Record<string, Readonly<Record<string, string>>>>>("docs")

function docOf(type: string, field: string): string {
  return docs()[type]?.[field] ?? ""
}

export type Special =
  | "Time"
  | "MicroTime"
  | "Duration"
  | "FieldsV1"
  | "RawExtension"
  | "IntOrString"
  | "Quantity"
  | "JSON"
  | "SchemaOrArray"
  | "SchemaOrBool"
  | "SchemaOrStrings"

export type TypeNode =
  | { kind: "string" | "bool" | "int32" | "int64" | "float" | "bytes" | "any"; go: string }
  | { kind: "pointer"; go: string; elem: TypeNode }
  | { kind: "list"; go: string; elem: TypeNode; named: boolean }
  | { kind: "map"; go: string; elem: TypeNode }
  | { kind: "special"; go: string; special: Special; name: string }
  | StructNode

export interface StructNode {
  readonly kind: "struct"
  readonly go: string
  /** Full name in OpenAPI, such as io.k8s.api.core.v1.Pod. */
  readonly name: string
  /** Go's type name without the package, as in unmarshalling errors. */
  readonly short: string
  readonly doc: string
  readonly atomic: boolean
  readonly fields: readonly FieldDef[]
  readonly byName: ReadonlyMap<string, FieldDef>
}

export interface FieldDef {
  readonly name: string
  readonly type: TypeNode
  readonly typeText: string
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  readonly wire: number
  readonly doc: string
  readonly patchStrategy: readonly string[]
  readonly patchMergeKey: string
  readonly listType: string
  readonly listMapKeys: readonly string[]
  readonly atomic: boolean
  readonly declaredDefault: string | undefined
  readonly required: boolean
}

const META = "io.k8s.apimachinery.pkg.apis.meta.v1"
const CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
const specials: Record<string, Special> = {
  [`${META}.Time`]: "Time",
  [`${META}.MicroTime`]: "MicroTime",
  [`${META}.Duration`]: "Duration",
  [`${META}.FieldsV1`]: "FieldsV1",
  "io.k8s.apimachinery.pkg.runtime.RawExtension": "RawExtension",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
  [`${CRD}.JSON`]: "JSON",
  [`${CRD}.JSONSchemaPropsOrArray`]: "SchemaOrArray",
  [`${CRD}.JSONSchemaPropsOrBool`]: "SchemaOrBool",
  [`${CRD}.JSONSchemaPropsOrStringArray`]: "SchemaOrStrings",
}

const structs = new Map<string, TypeNode>()

export function typeNamed(name: string): StructNode {
  const node = namedType(name)
  if (node.kind !== "struct") throw new Error(`type ${name} is no struct`)
  return node
}

export function knownType(name: string): boolean {
  return Object.hasOwn(types(), name)
}

export const objectMetaType = (): StructNode => typeNamed(`${META}.ObjectMeta`)
export const schemaPropsType = (): StructNode => typeNamed(`${CRD}.JSONSchemaProps`)

function namedType(name: string): TypeNode {
  const known = structs.get(name)
  if (known !== undefined) return known
  const raw = types()[name]
  if (raw === undefined) return { kind: "any", go: "interface {}" }
  const special = specials[name]
  const node: TypeNode =
    special !== undefined
      ? { kind: "special", go: raw.go, special, name }
      : raw.f !== undefined
        ? new Struct(name, raw)
        : rename(resolveType(raw.u ?? "any"), raw.go)
  structs.set(name, node)
  return node
}

function rename(node: TypeNode, go: string): TypeNode {
  if (node.kind === "struct" || node.kind === "special") return node
  return node.kind === "list" ? { ...node, go, named: true } : { ...node, go }
}

function resolveType(text: string): TypeNode {
  if (text.startsWith("*")) {
    const elem = resolveType(text.slice(1))
    return { kind: "pointer", go: elem.go, elem }
  }
  if (text.startsWith("[]")) {
    const elem = resolveType(text.slice(2))
    return { kind: "list", go: `[]${elem.go}`, elem, named: false }
  }
  if (text.startsWith("map[string]")) {
    const elem = resolveType(text.slice("map[string]".length))
    return { kind: "map", go: `map[string]${elem.go}`, elem }
  }
  if (text.startsWith("@")) return namedType(text.slice(1))
  switch (text) {
    case "string":
    case "bool":
    case "int32":
    case "int64":
      return { kind: text, go: text }
    case "int":
    case "uint32":
      return { kind: "int64", go: text }
    case "bytes":
      return { kind: "bytes", go: "[]uint8" }
    case "float64":
    case "float32":
      return { kind: "float", go: text }
    default:
      return { kind: "any", go: "interface {}" }
  }
}

class Struct implements StructNode {
  readonly kind = "struct"
  readonly go: string
  readonly short: string
  readonly atomic: boolean
  #fields: readonly FieldDef[] | undefined
  #byName: ReadonlyMap<string, FieldDef> | undefined

  constructor(
    readonly name: string,
    readonly raw: RawTypeDef,
  ) {
    this.go = raw.go
    this.short = raw.go.slice(raw.go.indexOf(".") + 1)
    this.atomic = raw.st === "atomic"
  }

  get doc(): string {
    return docOf(this.name, "")
  }

  get fields(): readonly FieldDef[] {
    this.#fields ??= (this.raw.f ?? []).flatMap(field => expand(this.name, field))
    return this.#fields
  }

  get byName(): ReadonlyMap<string, FieldDef> {
    this.#byName ??= new Map(this.fields.map(field => [field.name, field]))
    return this.#byName
  }
}

class Field implements FieldDef {
  readonly name: string
  readonly typeText: string
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  readonly wire: number
  readonly patchStrategy: readonly string[]
  readonly patchMergeKey: string
  readonly listType: string
  readonly listMapKeys: readonly string[]
  readonly atomic: boolean
  readonly declaredDefault: string | undefined
  readonly required: boolean
  #type: TypeNode | undefined

  constructor(
    readonly owner: string,
    raw: RawField,
  ) {
    this.name = raw.j
    this.typeText = raw.t
    this.omitEmpty = ((raw.o ?? 0) & 1) === 1
    this.omitZero = ((raw.o ?? 0) & 2) === 2
    this.wire = raw.p ?? 0
    this.patchStrategy = raw.ps === undefined ? [] : raw.ps.split(",")
    this.patchMergeKey = raw.pk ?? ""
    this.listType = raw.lt ?? ""
    this.listMapKeys = raw.lk ?? []
    this.atomic = raw.st === "atomic"
    this.declaredDefault = raw.def
    this.required = raw.req === 1
  }

  get doc(): string {
    return docOf(this.owner, this.name)
  }

  get type(): TypeNode {
    this.#type ??= resolveType(this.typeText)
    return this.#type
  }
}

/**
 * Fields of an inlined struct become fields of the outer one. In protobuf the inlined struct remains a message of its
 * own.
 */
function expand(owner: string, raw: RawField): FieldDef[] {
  if (raw.j !== "") return [new Field(owner, raw)]
  const inner = resolveType(raw.t.replace(/^\*/, ""))
  return inner.kind === "struct" ? [...inner.fields] : []
}

/** The protobuf view of a struct: inlined structs with a number are messages, TypeMeta has none. */
export function wireFields(node: StructNode): Map<number, FieldDef | StructNode> {
  const out = new Map<number, FieldDef | StructNode>()
  for (const raw of types()[node.name]?.f ?? []) {
    if (raw.j !== "") {
      const field = node.byName.get(raw.j)
      if (field !== undefined && field.wire > 0) out.set(field.wire, field)
      continue
    }
    const inner = resolveType(raw.t.replace(/^\*/, ""))
    if (inner.kind === "struct" && raw.p !== undefined) out.set(raw.p, inner)
  }
  return out
}
