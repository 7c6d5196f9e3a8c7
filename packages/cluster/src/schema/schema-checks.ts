// SPDX-License-Identifier: Apache-2.0
// Checks the schema of a CustomResourceDefinition: that it is structural, that its defaults are valid, that its list
// types are consistent and that its CEL rules compile within the cost budget.

import { RE2JS } from "re2js"
import { messageOf } from "../message-of.js"
import { type FieldError, forbidden, invalid, notSupported, required } from "../meta/field-error.js"
import {
  asArray,
  asObject,
  asString,
  asStrings,
  equal,
  isEmpty,
  isObject,
  type Json,
  type JsonObject,
} from "../value.js"
import { CelCheckError, checkCel, type StaticType, typeOfSchema } from "./cel/checker.js"
import { applyDefaults, prune } from "./shape.js"
import { compileSchema } from "./structural.js"
import { validateSchema } from "./validate.js"

const RULE_LIMIT = 10_000_000
const TOTAL_LIMIT = 100_000_000
const TYPES = ["array", "boolean", "integer", "number", "object", "string"]
const REASONS = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]

type Level = "root" | "item" | "field"

export function checkSchema(schema: JsonObject, path: string): FieldError[] {
  const document = checkDocument(schema, path)
  if (document.some(({ field }) => field.endsWith("$ref") || field.endsWith("uniqueItems"))) return document
  const structural = checkStructural(schema, "root", path)
  if (structural.length > 0) return [...structural, ...document]
  const defaults = checkDefaults(schema, path)
  if (defaults.length > 0 || document.length > 0) return [...defaults, ...document]
  return checkRules(schema, path)
}

function inner(schema: JsonObject, path: string): [JsonObject, string, Level][] {
  const out: [JsonObject, string, Level][] = []
  if (isObject(schema.items)) out.push([schema.items, `${path}.items`, "item"])
  for (const [name, property] of Object.entries(asObject(schema.properties)))
    out.push([asObject(property), `${path}.properties[${name}]`, "field"])
  if (isObject(schema.additionalProperties))
    out.push([schema.additionalProperties, `${path}.additionalProperties`, "field"])
  return out
}

function junctors(schema: JsonObject, path: string): [JsonObject, string][] {
  const out: [JsonObject, string][] = []
  for (const key of ["allOf", "anyOf", "oneOf"])
    for (const [i, item] of asArray(schema[key]).entries()) out.push([asObject(item), `${path}.${key}[${i}]`])
  if (isObject(schema.not)) out.push([schema.not, `${path}.not`])
  return out
}

function checkDocument(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const type = asString(schema.type)
  if (type !== "" && !TYPES.includes(type)) errors.push(notSupported(`${path}.type`, type, TYPES))
  if (schema.$ref !== undefined) errors.push(forbidden(`${path}.$ref`, "$ref is not supported"))
  for (const key of ["definitions", "dependencies", "patternProperties"])
    if (!isEmpty(schema[key])) errors.push(forbidden(`${path}.${key}`, `${key} is not supported`))
  if (typeof schema.pattern === "string") {
    try {
      RE2JS.compile(schema.pattern)
    } catch (error) {
      const message = messageOf(error).replace(/^error parsing regexp: /, "")
      errors.push(
        invalid(
          `${path}.pattern`,
          schema.pattern,
          `must be a valid regular expression, but isn't: error parsing regexp: ${message}`,
        ),
      )
    }
  }
  if (schema.uniqueItems === true)
    errors.push(
      forbidden(
        `${path}.uniqueItems`,
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ),
    )
  if (schema.additionalProperties !== undefined && !isEmpty(schema.properties) && schema.additionalProperties !== true)
    errors.push(forbidden(`${path}.additionalProperties`, "additionalProperties and properties are mutual exclusive"))
  for (const [child, at] of [...inner(schema, path), ...junctors(schema, path)])
    errors.push(...checkDocument(child, at))
  if (schema["x-kubernetes-preserve-unknown-fields"] === false)
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined"))
  errors.push(...checkListTypes(schema, path))
  for (const [i, item] of asArray(schema["x-kubernetes-validations"]).entries())
    errors.push(...checkRuleTexts(asObject(item), `${path}.x-kubernetes-validations[${i}]`))
  return errors
}

function checkRuleTexts(rule: JsonObject, path: string): FieldError[] {
  const text = asString(rule.rule).trim()
  const message = asString(rule.message)
  const errors: FieldError[] = []
  if (text === "") errors.push(required(`${path}.rule`, "rule is not specified"))
  else if (message !== "" && message.trim() === "")
    errors.push(invalid(`${path}.message`, message, "must be non-empty if specified"))
  else if (message.trim().includes("\n"))
    errors.push(invalid(`${path}.message`, message, "must not contain line breaks"))
  else if (text.includes("\n") && message.trim() === "")
    errors.push(required(`${path}.message`, "message must be specified if rule contains line breaks"))
  if (rule.reason !== undefined && !REASONS.includes(asString(rule.reason)))
    errors.push(notSupported(`${path}.reason`, asString(rule.reason), REASONS))
  return errors
}

function checkListTypes(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  const type = asString(schema.type)
  const wrongType = (wanted: string, key: string): FieldError =>
    type === ""
      ? required(`${path}.type`, `must be ${wanted} if ${key} is specified`)
      : invalid(`${path}.type`, type, `must be ${wanted} if ${key} is specified`)
  const mapType = schema["x-kubernetes-map-type"]
  if (mapType !== undefined && type !== "object") errors.push(wrongType("object", "x-kubernetes-map-type"))
  if (mapType !== undefined && mapType !== "atomic" && mapType !== "granular")
    errors.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"]))
  const listType = schema["x-kubernetes-list-type"]
  if (listType !== undefined && type !== "array") errors.push(wrongType("array", "x-kubernetes-list-type"))
  if (listType !== undefined && !["atomic", "set", "map"].includes(asString(listType)))
    errors.push(notSupported(`${path}.x-kubernetes-list-type`, listType, ["atomic", "set", "map"]))
  const keys = asStrings(schema["x-kubernetes-list-map-keys"])
  if (keys.length > 0 && listType === undefined)
    errors.push(required(`${path}.x-kubernetes-list-type`, "must be map if x-kubernetes-list-map-keys is non-empty"))
  else if (keys.length > 0 && listType !== "map")
    errors.push(
      invalid(
        `${path}.x-kubernetes-list-type`,
        listType ?? null,
        "must be map if x-kubernetes-list-map-keys is non-empty",
      ),
    )
  if (listType !== "map") return errors
  if (keys.length === 0)
    errors.push(required(`${path}.x-kubernetes-list-map-keys`, "must not be empty if x-kubernetes-list-type is map"))
  const items = asObject(schema.items)
  if (schema.items === undefined)
    errors.push(required(`${path}.items`, "must have a schema if x-kubernetes-list-type is map"))
  else if (items.type !== "object")
    errors.push(
      invalid(
        `${path}.items.type`,
        asString(items.type),
        "must be object if parent array's x-kubernetes-list-type is map",
      ),
    )
  else {
    const properties = asObject(items.properties)
    for (const key of keys) {
      const property = properties[key]
      if (property === undefined)
        errors.push(invalid(`${path}.x-kubernetes-list-map-keys`, keys, "entries must all be names of item properties"))
      else if (["array", "object"].includes(asString(asObject(property).type)))
        errors.push(
          invalid(
            `${path}.items.properties[${key}].type`,
            asString(items.type),
            "must be a scalar type if parent array's x-kubernetes-list-type is map",
          ),
        )
    }
    for (const key of keys)
      if (
        isObject(properties[key]) &&
        !asStrings(items.required).includes(key) &&
        asObject(properties[key]).default === undefined
      )
        errors.push(
          required(
            `${path}.items.properties[${key}].default`,
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ),
        )
  }
  return errors
}

function isIntOrStringPattern(list: Json | undefined): boolean {
  return equal(list ?? null, [{ type: "integer" }, { type: "string" }])
}

function checkStructural(schema: JsonObject, level: Level, path: string): FieldError[] {
  const errors: FieldError[] = []
  const type = asString(schema.type)
  const embedded = schema["x-kubernetes-embedded-resource"] === true
  if (type === "array" && schema.items === undefined) errors.push(required(`${path}.items`, "must be specified"))
  for (const [child, at, childLevel] of inner(schema, path)) errors.push(...checkStructural(child, childLevel, at))
  if (schema.additionalProperties !== undefined && level === "root")
    errors.push(forbidden(`${path}.additionalProperties`, "must not be used at the root"))
  const intOrString = schema["x-kubernetes-int-or-string"] === true
  for (const [child, at] of junctors(schema, path)) {
    if (intOrString && at.includes(".anyOf[") && isIntOrStringPattern(schema.anyOf)) continue
    errors.push(...checkNested(child, at))
  }
  if (type === "" && !intOrString && schema["x-kubernetes-preserve-unknown-fields"] !== true) {
    const where =
      level === "root" ? "at the root" : level === "item" ? "for specified array items" : "for specified object fields"
    errors.push(required(`${path}.type`, `must not be empty ${where}`))
  }
  if (level === "root" && type !== "" && type !== "object")
    errors.push(invalid(`${path}.type`, type, "must be object at the root"))
  const metadata = asObject(schema.properties).metadata
  if ((level === "root" || embedded) && isObject(metadata)) {
    const names = Object.keys(asObject(metadata.properties))
    if (names.some(name => name !== "name" && name !== "generateName") || metadata.additionalProperties !== undefined)
      errors.push(
        forbidden(
          `${path}.properties[metadata]`,
          "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ),
      )
  }
  if (embedded && schema["x-kubernetes-preserve-unknown-fields"] !== true && isEmpty(schema.properties))
    errors.push(
      required(
        `${path}.properties`,
        "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
      ),
    )
  return errors
}

/** Only value validations are allowed inside allOf, anyOf, oneOf and not. */
function checkNested(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  for (const [child, at] of inner(schema, path)) errors.push(...checkNested(child, at))
  for (const [child, at] of junctors(schema, path)) errors.push(...checkNested(child, at))
  for (const key of ["type", "title", "description", "default", "nullable", "additionalProperties"]) {
    const value = schema[key]
    if (value === undefined || value === false || value === "") continue
    errors.push(
      forbidden(
        `${path}.${key}`,
        key === "nullable"
          ? "must be false to be structural"
          : key === "default" || key === "additionalProperties"
            ? "must be undefined to be structural"
            : "must be empty to be structural",
      ),
    )
  }
  for (const key of Object.keys(schema).filter(
    name => name.startsWith("x-kubernetes-") && name !== "x-kubernetes-validations",
  ))
    errors.push(
      forbidden(
        `${path}.${key}`,
        schema[key] === true ? "must be false to be structural" : "must be undefined to be structural",
      ),
    )
  return errors
}

function checkDefaults(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (schema.default !== undefined) {
    const compiled = compileSchema(schema)
    const pruned: string[] = []
    prune(compiled, schema.default, pruned, false)
    if (pruned.length > 0) errors.push(invalid(`${path}.default`, schema.default, "must not have unknown fields"))
    else errors.push(...validateSchema(compiled, applyDefaults(compiled, schema.default), `${path}.default`))
  }
  for (const [child, at] of inner(schema, path)) errors.push(...checkDefaults(child, at))
  return errors
}

interface RuleCost {
  readonly path: string
  readonly cost: number
}

function checkRules(schema: JsonObject, path: string): FieldError[] {
  const costs: RuleCost[] = []
  const errors = checkRulesAt(schema, path, true, 1, costs)
  const total = costs.reduce((sum, { cost }) => sum + cost, 0)
  if (total > TOTAL_LIMIT) {
    const expensive = costs.filter(({ cost }) => cost >= TOTAL_LIMIT / 100).sort((a, b) => b.cost - a.cost)
    for (const rule of expensive.slice(0, 4))
      errors.push(
        forbidden(
          rule.path,
          "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        ),
      )
    errors.push(
      forbidden(
        path,
        costMessage(
          "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
          total,
          TOTAL_LIMIT,
        ),
      ),
    )
  }
  return errors
}

function costMessage(name: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? "more than 100x" : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`
  return `${name} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

function checkRulesAt(
  schema: JsonObject,
  path: string,
  root: boolean,
  cardinality: number,
  costs: RuleCost[],
): FieldError[] {
  const errors: FieldError[] = []
  const rules = asArray(schema["x-kubernetes-validations"])
  if (rules.length > 0) {
    const self = typeOfSchema(compileSchema(schema), root)
    for (const [i, item] of rules.entries())
      errors.push(...checkRule(asObject(item), self, `${path}.x-kubernetes-validations[${i}]`, cardinality, costs))
  }
  for (const [child, at] of inner(schema, path)) {
    const many =
      at === `${path}.items`
        ? Number(schema.maxItems ?? 1)
        : at === `${path}.additionalProperties`
          ? Number(schema.maxProperties ?? 1)
          : 1
    errors.push(...checkRulesAt(child, at, false, cardinality * many, costs))
  }
  return errors
}

function checkRule(
  rule: JsonObject,
  self: StaticType,
  path: string,
  cardinality: number,
  costs: RuleCost[],
): FieldError[] {
  const text = asString(rule.rule)
  const old: StaticType = rule.optionalOldSelf === true ? { kind: "optional", inner: self } : self
  const shown: JsonObject = {
    Rule: text,
    Message: asString(rule.message),
    MessageExpression: asString(rule.messageExpression),
    Reason: rule.reason ?? null,
    FieldPath: asString(rule.fieldPath),
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  }
  try {
    const checked = checkCel(
      text,
      new Map([
        ["self", self],
        ["oldSelf", old],
      ]),
    )
    const cost = checked.cost * cardinality
    costs.push({ path: `${path}.rule`, cost })
    if (cost > RULE_LIMIT) return [forbidden(`${path}.rule`, costMessage("estimated rule cost", cost, RULE_LIMIT))]
    if (checked.type.kind !== "bool" && checked.type.kind !== "dyn")
      return [invalid(`${path}.rule`, shown, "cel expression must evaluate to a bool")]
    if (rule.optionalOldSelf !== undefined && !checked.usesOldSelf)
      return [invalid(`${path}.optionalOldSelf`, rule.optionalOldSelf, "may not be set if oldSelf is not used in rule")]
  } catch (error) {
    if (error instanceof CelCheckError) return [invalid(`${path}.rule`, shown, `compilation failed: ${error.message}`)]
    throw error
  }
  return []
}
