// SPDX-License-Identifier: Apache-2.0
// A structural schema compiled from the JSONSchemaProps of a CustomResourceDefinition, so that validation, defaulting,
// pruning and apply do not need the raw schema documents.

import { RE2JS } from "re2js"
import { asArray, asObject, asString, asStrings, isObject, type Json, type JsonObject } from "../value.js"

export interface Rule {
  readonly rule: string
  readonly message: string
  readonly messageExpression: string
  readonly reason: string
  readonly fieldPath: string
  readonly optionalOldSelf: boolean
}

export interface Schema {
  readonly raw: JsonObject
  readonly type: string
  readonly nullable: boolean
  readonly properties: ReadonlyMap<string, Schema>
  readonly items: Schema | undefined
  /** true: any value; undefined: no additional properties. */
  readonly additional: Schema | true | undefined
  readonly required: readonly string[]
  readonly default: Json | undefined
  readonly enum: readonly Json[] | undefined
  readonly pattern: { text: string; regex: RE2JS } | undefined
  readonly format: string
  readonly preserveUnknown: boolean
  readonly intOrString: boolean
  readonly embedded: boolean
  readonly listType: "atomic" | "set" | "map"
  readonly listMapKeys: readonly string[]
  readonly atomicMap: boolean
  readonly rules: readonly Rule[]
  readonly allOf: readonly Schema[]
  readonly anyOf: readonly Schema[]
  readonly oneOf: readonly Schema[]
  readonly not: Schema | undefined
  /** Whether this schema or one below it has CEL rules. */
  readonly hasRules: boolean
}

export function compileSchema(raw: JsonObject): Schema {
  const properties = new Map(
    Object.entries(asObject(raw.properties)).map(([name, inner]) => [name, compileSchema(asObject(inner))]),
  )
  const list = (key: string): Schema[] => asArray(raw[key]).map(item => compileSchema(asObject(item)))
  const items = isObject(raw.items) ? compileSchema(raw.items) : undefined
  const additional = isObject(raw.additionalProperties)
    ? compileSchema(raw.additionalProperties)
    : raw.additionalProperties === true
      ? true
      : undefined
  const rules = asArray(raw["x-kubernetes-validations"]).map(item => ruleOf(asObject(item)))
  const listType = asString(raw["x-kubernetes-list-type"])
  const allOf = list("allOf")
  const inner = [
    ...properties.values(),
    ...allOf,
    ...(items ? [items] : []),
    ...(typeof additional === "object" ? [additional] : []),
  ]
  return {
    raw,
    type: asString(raw.type),
    nullable: raw.nullable === true,
    properties,
    items,
    additional,
    required: asStrings(raw.required),
    default: raw.default,
    enum: Array.isArray(raw.enum) ? raw.enum : undefined,
    pattern: typeof raw.pattern === "string" ? compilePattern(raw.pattern) : undefined,
    format: asString(raw.format),
    preserveUnknown: raw["x-kubernetes-preserve-unknown-fields"] === true,
    intOrString: raw["x-kubernetes-int-or-string"] === true,
    embedded: raw["x-kubernetes-embedded-resource"] === true,
    listType: listType === "set" || listType === "map" ? listType : "atomic",
    listMapKeys: asStrings(raw["x-kubernetes-list-map-keys"]),
    atomicMap: raw["x-kubernetes-map-type"] === "atomic",
    rules,
    allOf,
    anyOf: list("anyOf"),
    oneOf: list("oneOf"),
    not: isObject(raw.not) ? compileSchema(raw.not) : undefined,
    hasRules: rules.length > 0 || inner.some(schema => schema.hasRules),
  }
}

function ruleOf(raw: JsonObject): Rule {
  return {
    rule: asString(raw.rule),
    message: asString(raw.message),
    messageExpression: asString(raw.messageExpression),
    reason: asString(raw.reason),
    fieldPath: asString(raw.fieldPath),
    optionalOldSelf: raw.optionalOldSelf === true,
  }
}

function compilePattern(text: string): { text: string; regex: RE2JS } | undefined {
  try {
    return { text, regex: RE2JS.compile(text) }
  } catch {
    // A CRD with an invalid pattern is rejected when it is written. An invalid pattern that was stored earlier is not
    // checked.
    return undefined
  }
}
