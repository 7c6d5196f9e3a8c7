// SPDX-License-Identifier: Apache-2.0
// A static check of CEL rules against their schema: unknown fields, selections on scalars, results that are not bool,
// and nested loops over unbounded lists. Expressions of unknown type are accepted; evaluation reports their errors.

import { isNumber, type Json } from "../../value.js"
import type { Schema } from "../structural.js"
import { isKnownFunction, type ParsedCel, parseCel } from "./environment.js"
import { escapeName } from "./values.js"

type Expr = ParsedCel["expr"]

export type StaticType =
  | { kind: "dyn" | "bool" | "int" | "double" | "string" | "bytes" | "null" }
  | { kind: "list"; element: StaticType; size: number }
  | { kind: "map"; value: StaticType; size: number }
  | { kind: "object"; schema: Schema; root: boolean }
  | { kind: "optional"; inner: StaticType }

const DYN: StaticType = { kind: "dyn" }
const BOOL: StaticType = { kind: "bool" }
/** The approximate maximum number of minimal elements in a 3 MiB request. */
const UNBOUNDED = 1_048_576

export class CelCheckError extends Error {}

export interface Checked {
  readonly type: StaticType
  readonly usesOldSelf: boolean
  readonly cost: number
}

export function typeOfSchema(schema: Schema, root = false): StaticType {
  if (schema.intOrString || (schema.preserveUnknown && schema.type === "")) return DYN
  switch (schema.type) {
    case "object":
      if (schema.properties.size > 0 || root || schema.embedded)
        return { kind: "object", schema, root: root || schema.embedded }
      if (typeof schema.additional === "object")
        return { kind: "map", value: typeOfSchema(schema.additional), size: bound(schema.raw.maxProperties) }
      return DYN
    case "array":
      return {
        kind: "list",
        element: schema.items === undefined ? DYN : typeOfSchema(schema.items),
        size: bound(schema.raw.maxItems),
      }
    case "string":
      return schema.format === "date-time" ||
        schema.format === "duration" ||
        schema.format === "date" ||
        schema.format === "byte"
        ? DYN
        : { kind: "string" }
    case "integer":
      return { kind: "int" }
    case "number":
      return { kind: "double" }
    case "boolean":
      return BOOL
    default:
      return DYN
  }
}

function bound(limit: Json | undefined): number {
  return isNumber(limit) ? Number(limit) : UNBOUNDED
}

/** Throws CelCheckError with the compiler's message, including the caret. */
export function checkCel(expression: string, variables: ReadonlyMap<string, StaticType>): Checked {
  let parsed: ParsedCel
  try {
    parsed = parseCel(expression)
  } catch (error) {
    throw new CelCheckError(syntaxError(expression, error))
  }
  const checker = new Checker(expression, parsed.sourceInfo?.positions ?? {})
  const type = checker.check(parsed.expr, variables)
  return { type, usesOldSelf: checker.usesOldSelf, cost: checker.cost }
}

function syntaxError(expression: string, error: unknown): string {
  const offset = (error as { location?: { start?: { offset?: number } } }).location?.start?.offset ?? 0
  const at = expression[offset] === "." ? offset + 1 : offset
  const near =
    offset < expression.length
      ? `no viable alternative at input '${expression.slice(offset, at + 1)}'`
      : "mismatched input '<EOF>'"
  return pointAt(expression, at, `Syntax error: ${near}`)
}

function pointAt(expression: string, offset: number, message: string): string {
  return `ERROR: <input>:1:${offset + 1}: ${message}\n | ${expression}\n | ${".".repeat(offset)}^`
}

class Checker {
  usesOldSelf = false
  cost = 1
  #factor = 1

  constructor(
    readonly expression: string,
    readonly positions: Record<string, number>,
  ) {}

  fail(expr: Expr, message: string): never {
    throw new CelCheckError(pointAt(this.expression, this.positions[expr.id.toString()] ?? 0, message))
  }

  check(expr: Expr | undefined, scope: ReadonlyMap<string, StaticType>): StaticType {
    if (expr === undefined) return DYN
    const kind = expr.exprKind
    switch (kind.case) {
      case "constExpr":
        return constant(kind.value.constantKind.case)
      case "identExpr": {
        if (kind.value.name === "oldSelf") this.usesOldSelf = true
        const known = scope.get(kind.value.name)
        if (known === undefined && !builtinTypes.has(kind.value.name))
          this.fail(expr, `undeclared reference to '${kind.value.name}' (in container '')`)
        return known ?? DYN
      }
      case "selectExpr": {
        const operand = this.check(kind.value.operand, scope)
        const selected = this.select(expr, operand, kind.value.field)
        return kind.value.testOnly ? BOOL : selected
      }
      case "callExpr": {
        const target = kind.value.target === undefined ? undefined : this.check(kind.value.target, scope)
        const args = kind.value.args.map(arg => this.check(arg, scope))
        const name = kind.value.function
        // Rejecting the rule when it is written is better than rejecting every object later.
        if (/^[a-zA-Z]\w*$/.test(name) && !isKnownFunction(name))
          this.fail(expr, `undeclared reference to '${name}' (in container '')`)
        return callType(kind.value.function, target, args)
      }
      case "listExpr": {
        const elements = kind.value.elements.map(item => this.check(item, scope))
        return { kind: "list", element: elements[0] ?? DYN, size: elements.length }
      }
      case "structExpr":
        for (const entry of kind.value.entries) this.check(entry.value, scope)
        return DYN
      case "comprehensionExpr": {
        const { iterVar, iterVar2, iterRange, accuVar, accuInit, loopCondition, loopStep, result } = kind.value
        const range = this.check(iterRange, scope)
        const size =
          range.kind === "list" || range.kind === "map"
            ? range.size
            : range.kind === "object"
              ? range.schema.properties.size
              : UNBOUNDED
        const accumulator = this.check(accuInit, scope)
        const inner = new Map(scope)
        inner.set(
          iterVar,
          range.kind === "list"
            ? range.element
            : range.kind === "map" || range.kind === "object"
              ? { kind: "string" }
              : DYN,
        )
        if (iterVar2 !== "" && iterVar2 !== undefined) inner.set(iterVar2, DYN)
        inner.set(accuVar, accumulator)
        const before = this.#factor
        this.#factor = Math.min(before * Math.max(size, 1), 1e300)
        // Only iterations count, because the check must stop nested loops over unbounded lists.
        this.cost += this.#factor
        this.check(loopCondition, inner)
        const step = this.check(loopStep, inner)
        this.#factor = before
        const type = this.check(
          result,
          new Map([...scope, [accuVar, accumulator.kind === "list" ? step : accumulator]]),
        )
        return type
      }
      default:
        return DYN
    }
  }

  select(expr: Expr, operand: StaticType, field: string): StaticType {
    switch (operand.kind) {
      case "dyn":
        return DYN
      case "map":
        return operand.value
      case "object": {
        for (const [name, schema] of operand.schema.properties)
          if (escapeName(name) === field) return typeOfSchema(schema)
        if (operand.root && (field === "metadata" || field === "apiVersion" || field === "kind"))
          return field === "metadata" ? DYN : { kind: "string" }
        if (operand.schema.preserveUnknown || operand.schema.additional !== undefined) return DYN
        return this.fail(expr, `undefined field '${field}'`)
      }
      default:
        return this.fail(expr, `type '${operand.kind}' does not support field selection`)
    }
  }
}

const builtinTypes = new Set([
  "int",
  "uint",
  "double",
  "bool",
  "string",
  "bytes",
  "list",
  "map",
  "null_type",
  "type",
  "dyn",
  "timestamp",
  "duration",
  "optional",
  "google",
  "quantity",
  "ip",
  "cidr",
  "format",
  "math",
  "sets",
])

function constant(kind: string | undefined): StaticType {
  const types: Record<string, StaticType["kind"]> = {
    boolValue: "bool",
    int64Value: "int",
    doubleValue: "double",
    stringValue: "string",
    bytesValue: "bytes",
    nullValue: "null",
  }
  return { kind: types[kind ?? ""] ?? "dyn" } as StaticType
}

const boolean = new Set([
  "_==_",
  "_!=_",
  "_<_",
  "_<=_",
  "_>_",
  "_>=_",
  "_&&_",
  "_||_",
  "!_",
  "@in",
  "_in_",
  "@not_strictly_false",
  "startsWith",
  "endsWith",
  "contains",
  "matches",
  "hasValue",
  "isSorted",
])

function callType(name: string, target: StaticType | undefined, args: StaticType[]): StaticType {
  if (boolean.has(name)) return BOOL
  if (name === "size" || name === "int" || name === "indexOf") return { kind: "int" }
  if (name === "string" || name === "lowerAscii" || name === "upperAscii" || name === "trim" || name === "replace")
    return { kind: "string" }
  if (name === "_[_]") return args[0]?.kind === "list" ? args[0].element : args[0]?.kind === "map" ? args[0].value : DYN
  if (name === "_?_:_") return args[1]?.kind === args[2]?.kind ? (args[1] ?? DYN) : DYN
  if (name === "value" || name === "orValue") return target?.kind === "optional" ? target.inner : DYN
  const [first] = args
  if (
    /^_[+\-*/%]_$/.test(name) &&
    first !== undefined &&
    (first.kind === args[1]?.kind || args[1]?.kind === "dyn") &&
    first.kind !== "object"
  )
    return first
  return DYN
}
