// SPDX-License-Identifier: Apache-2.0
// Validates a document against a CRD as an API server does, as far as our schemas need it: OpenAPI keywords with ajv, CEL
// rules with a CEL implementation that is not Kubernetes' own. As in Kubernetes, a rule that fails to evaluate rejects.

import { type CelInput, run } from "@bufbuild/cel"
import { Ajv } from "ajv"
import type { CustomResourceDefinition, JsonSchema } from "../crd.js"
import { isObject } from "../field.js"

const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false })

/** The reasons why the API server would reject it; empty if it would accept it. */
export function crdValidator(crd: CustomResourceDefinition): (document: unknown) => readonly string[] {
  const schema = crd.spec.versions[0].schema.openAPIV3Schema
  const validator = ajv.compile({ ...schema })
  return document => {
    const rejections: string[] = []
    if (!validator(document))
      rejections.push(...(validator.errors ?? []).map(error => `${error.instancePath} ${error.message}`))
    // Kubernetes evaluates CEL only on structurally valid documents.
    else evaluate(schema, document, rejections)
    return rejections
  }
}

function evaluate(schema: JsonSchema, value: unknown, rejections: string[]): void {
  const rules = (schema["x-kubernetes-validations"] ?? []) as readonly { rule: string; message: string }[]
  for (const { rule, message } of rules) if (!holds(rule, celValue(value))) rejections.push(message)
  if (Array.isArray(value) && isObject(schema.items)) for (const item of value) evaluate(schema.items, item, rejections)
  if (!isObject(value)) return
  for (const [name, child] of Object.entries(value)) {
    const property = isObject(schema.properties) ? schema.properties[name] : schema.additionalProperties
    if (isObject(property)) evaluate(property, child, rejections)
  }
}

function holds(rule: string, self: CelInput): boolean {
  try {
    return run(rule, { self }) === true
  } catch {
    return false
  }
}

function celValue(value: unknown): CelInput {
  if (Array.isArray(value)) return value.map(celValue)
  if (isObject(value)) return new Map(Object.entries(value).map(([name, child]) => [name, celValue(child)]))
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value)
  return value as CelInput // what is left of JSON is a CEL input as it is
}
