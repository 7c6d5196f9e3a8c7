// SPDX-License-Identifier: Apache-2.0
//
// Evaluates x-kubernetes-validations on a custom resource: every rule on every value that its schema describes,
// transition rules only if there is an old value. Errors about unchanged values become warnings.

import { messageOf } from "../../message-of.js"
import { type FieldError, forbidden, invalid, printValue, required } from "../../meta/field-error.js"
import { equal, isObject, type Json } from "../../value.js"
import type { Rule, Schema } from "../structural.js"
import { correlate, noOld, type Old, oldMember } from "../validate.js"
import { compileCel, type Outcome } from "./environment.js"
import { optionalOf, toCel } from "./values.js"

const VARIABLES = ["self", "oldSelf"]

export interface RuleContext {
  warn(text: string): void
}

export function evaluateRules(schema: Schema, value: Json, old: Old, path: string, context: RuleContext): FieldError[] {
  if (value === null || !schema.hasRules) return []
  const errors = schema.rules.flatMap(rule => evaluate(rule, schema, value, old, path, context))
  for (const inner of schema.allOf) errors.push(...evaluateRules(inner, value, old, path, context))
  if (Array.isArray(value) && schema.items !== undefined)
    for (const [i, item] of value.entries())
      errors.push(...evaluateRules(schema.items, item, correlate(schema, item, old), `${path}[${i}]`, context))
  else if (isObject(value))
    for (const [key, item] of Object.entries(value)) {
      const known = schema.properties.get(key)
      if (known !== undefined)
        errors.push(...evaluateRules(known, item, oldMember(old, key), path === "" ? key : `${path}.${key}`, context))
      else if (typeof schema.additional === "object")
        errors.push(...evaluateRules(schema.additional, item, oldMember(old, key), `${path}[${key}]`, context))
    }
  return errors
}

const oldSelf = /\boldSelf\b/

function evaluate(rule: Rule, schema: Schema, value: Json, old: Old, path: string, context: RuleContext): FieldError[] {
  const usesOld = oldSelf.test(rule.rule)
  const oldValue = typeof old === "symbol" || old === null ? undefined : old
  if (usesOld && oldValue === undefined && !rule.optionalOldSelf) return []
  const field = path === "" ? "<nil>" : path
  const bindings = {
    self: toCel(value, schema),
    oldSelf: rule.optionalOldSelf ? optionalOf(oldValue, schema) : toCel(oldValue ?? null, schema),
  }
  const ruleText = (rule.message || rule.rule).trim()
  let outcome: Outcome
  try {
    outcome = compileCel(rule.rule, VARIABLES)(bindings)
  } catch (error) {
    // Fail closed: a rule that cannot be compiled rejects the object.
    return [invalid(field, schema.type, `rule compile error: ${messageOf(error)}`)]
  }
  if ("error" in outcome) {
    const detail = /^unbound function|^found no matching overload|^no such overload/.test(outcome.error)
      ? `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${ruleText}`
      : `${outcome.error} evaluating rule: ${ruleText}`
    return [invalid(field, schema.type, detail)]
  }
  if (outcome.value === true) return []
  const at =
    rule.fieldPath === ""
      ? field
      : path === ""
        ? rule.fieldPath.replace(/^\./, "")
        : `${path}${normalizePath(rule.fieldPath)}`
  const detail =
    ruleMessage(rule, bindings) ?? (rule.message !== "" ? rule.message.trim() : `failed rule: ${rule.rule.trim()}`)
  const error = finding(at, schema, value, detail, rule.reason)
  if (!usesOld && old !== noOld && equal(old as Json, value)) {
    context.warn(`${error.field}: ${detail}`)
    return []
  }
  return [error]
}

function normalizePath(path: string): string {
  return path.replace(/\['([^']*)'\]/g, ".$1")
}

function ruleMessage(rule: Rule, bindings: Parameters<ReturnType<typeof compileCel>>[0]): string | undefined {
  if (rule.messageExpression === "") return undefined
  try {
    const outcome = compileCel(rule.messageExpression, VARIABLES)(bindings)
    const text = "value" in outcome && typeof outcome.value === "string" ? outcome.value.trim() : ""
    return text === "" || text.includes("\n") ? undefined : text
  } catch {
    // The fixed message is used instead: a broken message expression must not hide the error.
    return undefined
  }
}

function finding(field: string, schema: Schema, value: Json, detail: string, reason: string): FieldError {
  const shown = schema.type === "object" || schema.type === "array" ? undefined : printValue(value)
  switch (reason) {
    case "FieldValueForbidden":
      return forbidden(field, detail)
    case "FieldValueRequired":
      return required(field, detail)
    case "FieldValueDuplicate":
      return shown === undefined
        ? { type: "Duplicate", field, detail: "" }
        : { type: "Duplicate", field, value: shown, detail: "" }
    default:
      return shown === undefined ? { type: "Invalid", field, detail } : { type: "Invalid", field, value: shown, detail }
  }
}
