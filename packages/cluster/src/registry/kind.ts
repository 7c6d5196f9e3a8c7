// SPDX-License-Identifier: Apache-2.0
// What the registry needs to know about a kind of object, built in or defined by a CRD: how it is decoded, stored,
// prepared, validated, selected and applied. There is one implementation for built-in and one for custom kinds.

import type { Behaviour } from "../kinds/behaviour.js"
import type { ResourceInfo } from "../kinds/resource-table.js"
import type { FieldError } from "../meta/field-error.js"
import type { MetaRules } from "../meta/object-meta.js"
import type { GroupResource } from "../meta/status.js"
import type { ApplyType } from "../patch/apply/apply-type.js"
import type { Json, JsonObject } from "../value.js"

export interface DecodedObject {
  readonly object: JsonObject
  /** Paths of fields that are not in the schema, in reporting order. */
  readonly unknown: string[]
}

export interface Column {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
  /** The value of the column for an object. */
  cell(object: JsonObject, now: number): Json
}

export interface ValidationContext {
  warn(text: string): void
}

export interface Kind {
  readonly info: ResourceInfo
  readonly builtin: boolean
  readonly behaviour: Behaviour
  readonly meta: MetaRules
  /** Checks the types of a document, normalizes it and adds defaults; throws DecodeError. */
  decode(value: Json): DecodedObject
  /** Converts a stored document to the requested version. */
  fromStored(stored: JsonObject): JsonObject
  toStored(object: JsonObject): JsonObject
  readonly hasStatus: boolean
  readonly scale?: ScalePaths
  prepareForCreate(object: JsonObject): void
  prepareForUpdate(object: JsonObject, old: JsonObject): void
  validate(object: JsonObject, context: ValidationContext): FieldError[]
  validateUpdate(object: JsonObject, old: JsonObject, context: ValidationContext): FieldError[]
  /** The value of a selectable field; undefined when the kind does not support the field. */
  field(object: JsonObject, path: string): string | undefined
  selectable(path: string): boolean
  unsupportedField(path: string): string
  readonly applyType: ApplyType
  readonly empty: JsonObject
  /** Created on demand, because columns contain the documentation of fields. */
  columns(): readonly Column[]
  /** A warning for every caller of the version. */
  readonly deprecation: string | undefined
}

export interface ScalePaths {
  readonly spec: readonly string[]
  readonly status: readonly string[]
  readonly selector: readonly string[] | undefined
}

export function groupResource(info: ResourceInfo): GroupResource {
  return { group: info.group, resource: info.plural }
}

export function groupKind(info: ResourceInfo): GroupResource {
  return { group: info.group, resource: info.kind }
}

export function keyOf(info: ResourceInfo, namespace: string, name: string): string {
  return info.namespaced ? `${info.prefix}${namespace}/${name}` : `${info.prefix}${name}`
}

export function prefixOf(info: ResourceInfo, namespace: string): string {
  return info.namespaced && namespace !== "" ? `${info.prefix}${namespace}/` : info.prefix
}

/** For Namespaces, selectors use their own labels; for other objects, the labels of their namespace. */
export function isNamespace({ info }: Kind): boolean {
  return info.group === "" && info.kind === "Namespace"
}
