// SPDX-License-Identifier: Apache-2.0
//
// The four patch types: the expected body, how it is applied to the current object, and how the result is decoded into
// the kind.

import { DecodeError, decode } from "../kinds/codec.js"
import type { StructNode } from "../kinds/type-table.js"
import { ApiError, badRequest, invalidError, tooLarge } from "../meta/status.js"
import { JsonPatchError, jsonPatch } from "../patch/json-patch.js"
import { mergePatch } from "../patch/merge-patch.js"
import { StrategicError, strategicMerge } from "../patch/strategic.js"
import type { RequestContext } from "../registry/context.js"
import type { Kind } from "../registry/kind.js"
import { asArray, asObject, asString, isObject, type Json, type JsonObject, sorted } from "../value.js"
import { JsonSyntaxError, parseJson, stringify } from "../wire/json.js"
import { complain, strictIssues } from "./body.js"

export type PatchType = "json" | "merge" | "strategic" | "apply"

export const patchTypes: Readonly<Record<string, PatchType>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
}

const MAX_OPERATIONS = 10_000

export interface Patch {
  readonly type: Exclude<PatchType, "apply">
  readonly value: Json
  readonly duplicates: string[]
}

function goKind(value: Json): string {
  if (Array.isArray(value)) return "array"
  return typeof value === "string"
    ? "string"
    : typeof value === "boolean"
      ? "bool"
      : isObject(value)
        ? "object"
        : "number"
}

export function parsePatch(
  type: Exclude<PatchType, "apply">,
  body: Buffer,
  fieldValidation: RequestContext["fieldValidation"],
): Patch {
  let parsed: { value: Json; duplicates: string[] }
  try {
    parsed = parseJson(body.toString())
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw badRequest(type === "merge" ? "invalid JSON patch" : `error decoding patch: ${error.message}`)
  }
  const { value } = parsed
  if (type === "json") {
    const error = fieldValidation === "Ignore" ? looseError(value) : operationsError(value)
    if (error !== undefined) throw badRequest(error)
    if (!Array.isArray(value)) throw badRequest("Invalid JSON Patch")
    if (value.length > MAX_OPERATIONS)
      throw tooLarge(`The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${value.length}`)
  } else if (!isObject(value)) {
    if (value === null)
      throw badRequest(type === "merge" ? "Invalid JSON Patch" : "error decoding patch: unexpected null")
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`,
    )
  }
  const duplicates = parsed.duplicates.map(path => `duplicate field ${JSON.stringify(path)}`)
  if (type === "json") duplicates.push(...unknownOperationFields(asArray(value)))
  return { type, value, duplicates }
}

/** Go's decoding errors for a list of operations, from the decoder that reads fields and from the one that does not. */
function operationsError(value: Json): string | undefined {
  const prefix = "error decoding patch: json: cannot unmarshal"
  if (!Array.isArray(value)) return `${prefix} ${goKind(value)} into Go value of type []handlers.jsonPatchOp`
  for (const operation of value) {
    if (operation === null) continue
    if (!isObject(operation)) return `${prefix} ${goKind(operation)} into Go value of type handlers.jsonPatchOp`
    for (const [key, field] of Object.entries(operation))
      if (key !== "value" && OPERATION_FIELDS.has(key) && field !== null && typeof field !== "string")
        return `${prefix} ${goKind(field)} into Go struct field jsonPatchOp.${key} of type string`
  }
  return undefined
}

function looseError(value: Json): string | undefined {
  const prefix = "json: cannot unmarshal"
  if (!Array.isArray(value)) return `${prefix} ${goKind(value)} into Go value of type jsonpatch.Patch`
  const wrong = value.find(operation => operation !== null && !isObject(operation))
  return wrong === undefined ? undefined : `${prefix} ${goKind(wrong)} into Go value of type jsonpatch.Operation`
}

const OPERATION_FIELDS: ReadonlySet<string> = new Set(["op", "path", "from", "value"])

function unknownOperationFields(operations: readonly Json[]): string[] {
  return operations.flatMap((operation, i) =>
    Object.keys(asObject(operation))
      .filter(key => !OPERATION_FIELDS.has(key))
      .map(key => `json patch unknown field "[${i}].${key}"`),
  )
}

/** The parts of a kind that patching needs. */
export interface Patchable {
  readonly info: Pick<Kind["info"], "kind" | "apiVersion">
  readonly decode: Kind["decode"]
}

/** Applies the patch and decodes the result into its kind. */
export function applyPatch(
  kind: Patchable,
  type: StructNode | undefined,
  current: JsonObject,
  patch: Patch,
  context: Pick<RequestContext, "fieldValidation" | "warn">,
): JsonObject {
  // Errors quote the result. Built-in kinds print fields in Go's order, custom resources sorted.
  const base =
    type === undefined
      ? (sorted(current) as JsonObject)
      : { kind: kind.info.kind, apiVersion: kind.info.apiVersion, ...decode(type, current) }
  const patched = patchValue(base, type, patch)
  const reject = (why: string): never => {
    throw invalidError({ group: "", resource: "" }, "", [
      { type: "Invalid", field: "patch", value: JSON.stringify(stringify(patched)), detail: why },
    ])
  }
  if (!isObject(patched)) return reject("json: cannot unmarshal into Go value of type map[string]interface {}")
  const wanted = asString(patched.kind)
  if (type === undefined && wanted === "") reject("Object 'Kind' is missing in '{}'".replace("{}", stringify(patched)))
  if (
    type !== undefined &&
    (wanted !== kind.info.kind || asString(patched.apiVersion) !== kind.info.apiVersion) &&
    wanted !== ""
  )
    reject(
      `no kind ${JSON.stringify(wanted)} is registered for version ${JSON.stringify(asString(patched.apiVersion))} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    )
  try {
    const { object, unknown } = kind.decode(patched)
    complain(strictIssues(patch.duplicates, unknown), context, issues =>
      reject(`strict decoding error: ${issues.join(", ")}`),
    )
    return object
  } catch (error) {
    if (error instanceof DecodeError) return reject(error.message)
    throw error
  }
}

function patchValue(base: JsonObject, type: StructNode | undefined, patch: Patch): Json {
  try {
    switch (patch.type) {
      case "json":
        return jsonPatch(base, asArray(patch.value))
      case "merge":
        return mergePatch(base, patch.value)
      case "strategic":
        return strategicMerge(base, asObject(patch.value), type ?? { kind: "any", go: "" })
      default:
        return patch.type satisfies never
    }
  } catch (error) {
    if (error instanceof JsonPatchError)
      throw new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    if (error instanceof StrategicError) throw new ApiError(500, "", error.message)
    throw error
  }
}
