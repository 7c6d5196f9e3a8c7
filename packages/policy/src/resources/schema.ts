// SPDX-License-Identifier: Apache-2.0
// The building blocks of every kind's definition. A definition is a TypeBox value, hence JSON Schema: the types, the
// validator, the CRDs and the reference pages are all generated from it. Keys that start with `x-` are ours or
// Kubernetes' and are ignored by JSON Schema validators.

import type { Static, TSchema } from "typebox"
// A namespace import: the default export contains all of TypeBox, which would end up in every bundle.
import * as Type from "typebox"

/** A CEL rule of `x-kubernetes-validations`. */
export interface CelRule {
  readonly rule: string
  readonly message: string
}

/** A field or value that other meshes support and that is rejected here with its own reason. */
export interface Rejected {
  readonly problem: string
  readonly fix: string
}

/** Annotations that any node may have next to its JSON Schema keywords. */
export interface Notes {
  readonly description: string
  /**
   * The text to report if the keyword of that name fails; `null` stands for a null value. `{rule}` is replaced by the
   * number of the rule with the error.
   */
  readonly "x-problem"?: { readonly [keyword: string]: string }
  /** The correct form, if the schema itself does not express it well. */
  readonly "x-fix"?: string
  readonly "x-rejected"?: { readonly [fieldOrValue: string]: Rejected }
  /** The field is an alias of the named one. */
  readonly "x-alias"?: string
  readonly "x-kubernetes-validations"?: readonly CelRule[]
}

interface TextLimits {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly default?: string
}

interface ListLimits {
  readonly minItems?: number
  readonly maxItems: number
}

/** Longest single value of a policy. Longer ones exist only in attacks; an inline key set has a limit of its own. */
export const MAX_TEXT = 2048

/** Makes properties, lists and records read-only, because they must not change after a document has been validated. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Immutable<T[Key]> }
    : T

export type TypeOf<Schema extends TSchema> = Immutable<Static<Schema>>

export function text(notes: Notes & TextLimits) {
  return Type.String({ maxLength: MAX_TEXT, ...notes })
}

export function flag(notes: Notes & { readonly default?: boolean }) {
  return Type.Boolean({ ...notes })
}

export function whole(notes: Notes & { readonly minimum: number; readonly maximum: number; readonly format: "int32" }) {
  return Type.Integer({ ...notes })
}

export function choice<const Values extends string[]>(
  values: [...Values],
  notes: Notes & { readonly default?: string },
) {
  return Type.Enum(values, { type: "string", ...notes })
}

export function list<Item extends TSchema>(item: Item, notes: Notes & ListLimits) {
  return Type.Array(item, { ...notes })
}

/** An object with these fields and no others. */
export function closed<Properties extends Record<string, TSchema>>(properties: Properties, notes: Notes) {
  return Type.Object(properties, { additionalProperties: false, ...notes })
}

/** An object whose field names are the user's own. */
export function record<Value extends TSchema>(
  value: Value,
  notes: Notes & { readonly minProperties?: number; readonly maxProperties: number },
) {
  // `additionalProperties` rather than TypeBox's `patternProperties`: a structural schema knows only the former.
  return Type.Unsafe<Record<string, Static<Value>>>({ type: "object", additionalProperties: value, ...notes })
}

export const optional = Type.Optional
