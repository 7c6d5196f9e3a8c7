// SPDX-License-Identifier: Apache-2.0
// Validates a value against a structural schema with the messages of Kubernetes' OpenAPI validator. On updates, errors
// about unchanged parts are ignored (ratcheting).

import { type FieldError, invalid, notSupported, printValue, required, tooLong, tooMany } from "../meta/field-error.js"
import { equal, getKey, isNumber, isObject, type Json } from "../value.js"
import { stringify } from "../wire/json.js"
import { checkFormat } from "./formats.js"
import type { Schema } from "./structural.js"

const ABSENT = Symbol("absent")
/** The old value at the same path, if it can be correlated. */
export type Old = Json | typeof ABSENT

export const noOld: Old = ABSENT

export function validateSchema(schema: Schema, value: Json, path: string, old: Old = ABSENT): FieldError[] {
  if (old !== ABSENT && equal(old, value)) return []
  const errors: FieldError[] = []
  const title = path === "" ? "" : path
  const say = (text: string): string => `${title} in body ${text}`
  const typeError = checkType(schema, value)
  if (typeError !== undefined) {
    const actual = jsonType(value)
    errors.push({
      type: "TypeInvalid",
      field: fieldOf(path),
      value: printValue(actual),
      detail: `${say("must be of type")} ${typeError}: ${JSON.stringify(actual)}`,
    })
    return errors
  }
  errors.push(...combinations(schema, value, path))
  if (typeof value === "string") errors.push(...strings(schema, value, path, say))
  if (isNumber(value)) errors.push(...numbers(schema, value, path, say))
  if (Array.isArray(value)) errors.push(...arrays(schema, value, path, say, old))
  if (schema.enum !== undefined && !schema.enum.some(allowed => equal(allowed, value)))
    errors.push(
      notSupported(
        fieldOf(path),
        value,
        schema.enum.map(item => (typeof item === "string" ? item : stringify(item))),
      ),
    )
  if (isObject(value)) errors.push(...objects(schema, value, path, say, old))
  return errors
}

const fieldOf = (path: string): string => (path === "" ? "<nil>" : path)

function jsonType(value: Json): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  if (isNumber(value)) return typeof value === "bigint" || Number.isInteger(value) ? "integer" : "number"
  return typeof value
}

function checkType(schema: Schema, value: Json): string | undefined {
  if (value === null)
    return schema.nullable || schema.type === "" ? undefined : schema.intOrString ? "integer,string" : schema.type
  const actual = jsonType(value)
  if (schema.intOrString) return actual === "integer" || actual === "string" ? undefined : "integer,string"
  if (schema.type === "" || actual === schema.type) return undefined
  return schema.type === "number" && actual === "integer" ? undefined : schema.type
}

function strings(schema: Schema, value: string, path: string, say: (text: string) => string): FieldError[] {
  const { maxLength, minLength } = schema.raw
  // `value.length` counts UTF-16 units, which are at least as many as characters. A value that is short enough in units
  // passes `maxLength` without counting its characters.
  const length = (): number => Array.from(value).length
  const errors: FieldError[] = []
  if (isNumber(maxLength) && value.length > maxLength && length() > maxLength)
    errors.push(tooLong(fieldOf(path), Number(maxLength)))
  if (isNumber(minLength) && length() < minLength)
    errors.push(invalid(fieldOf(path), value, say(`should be at least ${minLength} chars long`)))
  if (schema.pattern !== undefined && !schema.pattern.regex.matcher(value).find())
    errors.push(invalid(fieldOf(path), value, say(`should match '${schema.pattern.text}'`)))
  if (schema.format !== "" && !checkFormat(schema.format, value))
    errors.push(invalid(fieldOf(path), value, `${say("must be of type")} ${schema.format}: ${JSON.stringify(value)}`))
  return errors
}

function numbers(schema: Schema, value: number | bigint, path: string, say: (text: string) => string): FieldError[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema.raw
  const errors: FieldError[] = []
  if (isNumber(maximum) && (exclusiveMaximum === true ? value >= maximum : value > maximum))
    errors.push(
      invalid(
        fieldOf(path),
        value,
        say(`should be less than ${exclusiveMaximum === true ? "" : "or equal to "}${maximum}`),
      ),
    )
  if (isNumber(minimum) && (exclusiveMinimum === true ? value <= minimum : value < minimum))
    errors.push(
      invalid(
        fieldOf(path),
        value,
        say(`should be greater than ${exclusiveMinimum === true ? "" : "or equal to "}${minimum}`),
      ),
    )
  if (isNumber(multipleOf) && Number(multipleOf) > 0 && Number.isInteger(Number(value) / Number(multipleOf)) === false)
    errors.push(invalid(fieldOf(path), value, say(`should be a multiple of ${multipleOf}`)))
  const range = schema.format === "int32" ? 2 ** 31 : undefined
  if (range !== undefined && schema.type === "integer" && (value >= range || value < -range))
    errors.push(invalid(fieldOf(path), value, `${say("must be of type")} int32: "${value}"`))
  return errors
}

function arrays(schema: Schema, value: Json[], path: string, say: (text: string) => string, old: Old): FieldError[] {
  const { maxItems, minItems } = schema.raw
  const errors: FieldError[] = []
  if (isNumber(minItems) && value.length < minItems)
    errors.push(invalid(fieldOf(path), value.length, say(`should have at least ${minItems} items`)))
  const items = schema.items
  // The items of a list that is too long are not validated, because a client could make that take arbitrarily long.
  if (isTooLong(schema, value)) errors.push(tooMany(fieldOf(path), value.length, Number(maxItems)))
  else if (items !== undefined)
    value.forEach((item, i) => {
      errors.push(...validateSchema(items, item, `${path}[${i}]`, correlate(schema, item, old)))
    })
  return errors
}

function isTooLong({ raw: { maxItems } }: Schema, value: readonly Json[]): boolean {
  return isNumber(maxItems) && value.length > maxItems
}

/** Only lists with map keys can relate a new item to an old one. */
export function correlate(schema: Schema, item: Json, old: Old): Old {
  if (old === ABSENT || !Array.isArray(old) || schema.listType !== "map" || !isObject(item)) return ABSENT
  const same = (other: Json): boolean =>
    isObject(other) && schema.listMapKeys.every(key => equal(getKey(other, key) ?? null, getKey(item, key) ?? null))
  return old.find(same) ?? ABSENT
}

export function oldMember(old: Old, key: string): Old {
  if (old === ABSENT || !isObject(old)) return ABSENT
  return getKey(old, key) ?? ABSENT
}

function objects(
  schema: Schema,
  value: { [key: string]: Json },
  path: string,
  say: (text: string) => string,
  old: Old,
): FieldError[] {
  const { maxProperties, minProperties } = schema.raw
  const keys = Object.keys(value)
  const errors: FieldError[] = []
  if (isNumber(minProperties) && keys.length < minProperties)
    errors.push(invalid(fieldOf(path), keys.length, say(`should have at least ${minProperties} properties`)))
  if (isNumber(maxProperties) && keys.length > maxProperties)
    errors.push(tooMany(fieldOf(path), keys.length, Number(maxProperties)))
  for (const name of schema.required)
    if (!Object.hasOwn(value, name)) errors.push(required(path === "" ? name : `${path}.${name}`))
  for (const key of keys) {
    const known = schema.properties.get(key)
    const inner = known ?? (typeof schema.additional === "object" ? schema.additional : undefined)
    if (inner === undefined) continue
    // Names are joined with dots; in schema errors Kubernetes does this for keys of free maps too.
    errors.push(...validateSchema(inner, value[key] ?? null, path === "" ? key : `${path}.${key}`, oldMember(old, key)))
  }
  return errors
}

function combinations(schema: Schema, value: Json, path: string): FieldError[] {
  const errors: FieldError[] = []
  const { anyOf, oneOf, allOf, not } = schema
  if (anyOf.length === 0 && oneOf.length === 0 && allOf.length === 0 && not === undefined) return errors
  const valid = (inner: Schema): boolean => validateSchema(inner, value, path).length === 0
  const quoted = JSON.stringify(path)
  const plain = typeof value === "object" ? "" : value
  if (schema.intOrString && schema.anyOf.length > 0) return errors
  if (schema.anyOf.length > 0 && !schema.anyOf.some(valid)) {
    errors.push(invalid(fieldOf(path), plain, `${quoted} must validate at least one schema (anyOf)`))
    const first = schema.anyOf[0]
    if (first !== undefined) errors.push(...validateSchema(first, value, path))
  }
  if (schema.oneOf.length > 0) {
    const count = schema.oneOf.filter(valid).length
    if (count !== 1) {
      errors.push(
        invalid(
          fieldOf(path),
          plain,
          `${quoted} must validate one and only one schema (oneOf). Found ${count === 0 ? "none" : count} valid`,
        ),
      )
      const first = schema.oneOf[0]
      if (count === 0 && first !== undefined) errors.push(...validateSchema(first, value, path))
    }
  }
  const failed = schema.allOf.flatMap(inner => validateSchema(inner, value, path))
  if (failed.length > 0)
    errors.push(invalid(fieldOf(path), plain, `${quoted} must validate all the schemas (allOf)`), ...failed)
  if (schema.not !== undefined && valid(schema.not))
    errors.push(invalid(fieldOf(path), plain, `${quoted} must not validate the schema (not)`))
  return errors
}

/** Sets must not contain a value twice, keyed lists no key twice. */
export function validateListTypes(schema: Schema, value: Json, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (Array.isArray(value)) {
    if (isTooLong(schema, value)) return errors
    if (schema.listType !== "atomic") {
      const seen = new Set<string>()
      value.forEach((item, i) => {
        const key: Json =
          schema.listType === "set"
            ? item
            : Object.fromEntries(
                schema.listMapKeys.map(name => [name, isObject(item) ? (getKey(item, name) ?? null) : null]),
              )
        const text = stringify(key)
        if (seen.has(text))
          errors.push({ type: "Duplicate", field: `${path}[${i}]`, value: printValue(key), detail: "" })
        seen.add(text)
      })
    }
    if (schema.items !== undefined)
      for (const [i, item] of value.entries()) errors.push(...validateListTypes(schema.items, item, `${path}[${i}]`))
  } else if (isObject(value))
    for (const [key, item] of Object.entries(value)) {
      const known = schema.properties.get(key)
      if (known !== undefined) errors.push(...validateListTypes(known, item, path === "" ? key : `${path}.${key}`))
      else if (typeof schema.additional === "object")
        errors.push(...validateListTypes(schema.additional, item, `${path}[${key}]`))
    }
  return errors
}
