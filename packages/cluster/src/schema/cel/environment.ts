// SPDX-License-Identifier: Apache-2.0
// The CEL environment of rules: the standard library plus Kubernetes' additions to strings, lists and conversions, with
// cel-go's error messages. Programs are planned once and cached.

import {
  type CelFunc,
  type CelInput,
  CelScalar,
  type CelValue,
  celEnv,
  celFunc,
  celMethod,
  isCelError,
  isCelList,
  listType,
  mapType,
  parse,
  plan,
} from "@bufbuild/cel"
import { strings } from "@bufbuild/cel/ext"

export type CelBinding = CelInput

/** The key that represents an optional in an evaluator without that type. */
export const OPTIONAL = "@optional"

const { BOOL, DYN, INT, STRING, DOUBLE } = CelScalar
const anyList = listType(DYN)
const optional = mapType(STRING, DYN)

const raise = (message: string): never => {
  throw new Error(message)
}

function toInt(text: string): bigint {
  return /^[+-]?\d+$/.test(text) ? BigInt(text) : raise("type conversion error from 'string' to 'int'")
}

function items(list: unknown): CelValue[] {
  return isCelList(list) ? [...list] : []
}

function less(a: CelValue, b: CelValue): boolean {
  return (a as bigint) < (b as bigint)
}

function unwrapped(value: unknown): CelValue[] {
  const map = value as { get(key: string): unknown; has?(key: string): boolean }
  const inner = map.get(OPTIONAL)
  return items(inner)
}

const functions: CelFunc[] = [
  celFunc("int", [STRING], INT, toInt),
  celFunc("double", [STRING], DOUBLE, text =>
    text.trim() !== "" && Number.isFinite(Number(text))
      ? Number(text)
      : raise("type conversion error from 'string' to 'double'"),
  ),
  celMethod("isSorted", anyList, [], BOOL, function () {
    const list = items(this)
    return list.every((item, i) => i === 0 || !less(item, list[i - 1] as CelValue))
  }),
  celMethod("sum", anyList, [], DYN, function () {
    return items(this).reduce<bigint | number>(
      (total, item) => (total as bigint) + (item as bigint),
      items(this).some(item => typeof item === "number") ? 0 : 0n,
    )
  }),
  celMethod("min", anyList, [], DYN, function () {
    return items(this).reduce((a, b) => (less(b, a) ? b : a))
  }),
  celMethod("max", anyList, [], DYN, function () {
    return items(this).reduce((a, b) => (less(a, b) ? b : a))
  }),
  celMethod("indexOf", anyList, [DYN], INT, function (wanted) {
    return BigInt(items(this).indexOf(wanted))
  }),
  celMethod("lastIndexOf", anyList, [DYN], INT, function (wanted) {
    return BigInt(items(this).lastIndexOf(wanted))
  }),
  celMethod("hasValue", optional, [], BOOL, function () {
    return unwrapped(this).length > 0
  }),
  celMethod("value", optional, [], DYN, function () {
    const [value] = unwrapped(this)
    return value === undefined ? raise("optional.none() dereference") : value
  }),
  celMethod("orValue", optional, [DYN], DYN, function (other) {
    const [value] = unwrapped(this)
    return value === undefined ? other : value
  }),
]

const library = celEnv({ funcs: [...strings, ...functions] })

/** Whether a rule may call the function; macros are already expanded. */
export function isKnownFunction(name: string): boolean {
  return library.funcs.find(name) !== undefined
}

export type Outcome = { value: CelValue } | { error: string }
export type Program = (bindings: Record<string, CelBinding>) => Outcome

const programs = new Map<string, Program>()
const MAX_PROGRAMS = 5000

export type ParsedCel = ReturnType<typeof parse>

const expressions = new Map<string, ParsedCel>()
const MAX_EXPRESSIONS = 500

/**
 * Cached, because CRDs repeat few rules at many fields and in each version. Throws the parser's error for an invalid
 * expression.
 */
export function parseCel(expression: string): ParsedCel {
  const known = expressions.get(expression)
  if (known !== undefined) return known
  const parsed = parse(expression)
  if (expressions.size >= MAX_EXPRESSIONS) expressions.clear()
  expressions.set(expression, parsed)
  return parsed
}

/** Throws the parser's error for an invalid expression. */
export function compileCel(expression: string, variables: readonly string[]): Program {
  const key = `${variables.join(",")}|${expression}`
  const known = programs.get(key)
  if (known !== undefined) return known
  const env = celEnv({
    variables: Object.fromEntries(variables.map(name => [name, DYN])),
    funcs: [...strings, ...functions],
  })
  const run = plan(env, parseCel(expression))
  const program: Program = bindings => {
    const result = run(bindings)
    return isCelError(result) ? { error: wording(result.message) } : { value: result }
  }
  if (programs.size >= MAX_PROGRAMS) programs.clear()
  programs.set(key, program)
  return program
}

function wording(message: string): string {
  const missing = /^field not found: (.*)$/.exec(message)
  if (missing !== null) return `no such key: ${missing[1]}`
  if (/^int divide by zero/.test(message)) return "division by zero"
  return message
}
