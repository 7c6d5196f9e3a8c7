// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { errorText } from "../meta/field-error.js"
import type { Json, JsonObject } from "../value.js"
import { evaluateRules } from "./cel/rules.js"
import { checkSchema } from "./schema-checks.js"
import { applyDefaults, prune } from "./shape.js"
import { compileSchema } from "./structural.js"
import { noOld, validateSchema } from "./validate.js"

const errors = (schema: JsonObject, value: Json): string[] =>
  validateSchema(compileSchema(schema), value, "spec").map(errorText)
const rules = (schema: JsonObject, value: Json, old?: Json): string[] =>
  evaluateRules(compileSchema(schema), value, old ?? noOld, "spec", { warn: () => undefined }).map(errorText)

describe("validateSchema", () => {
  it.each<[JsonObject, Json, string[]]>([
    [{ type: "integer" }, 5, []],
    [{ type: "integer" }, 5.5, ['spec: Invalid value: "number": spec in body must be of type integer: "number"']],
    [{ type: "number" }, 5, []],
    [{ type: "string", nullable: true }, null, []],
    [{ type: "string" }, null, ['spec: Invalid value: "null": spec in body must be of type string: "null"']],
    [{ type: "string", enum: ["a", "b"] }, "c", ['spec: Unsupported value: "c": supported values: "a", "b"']],
    [{ type: "string", maxLength: 2 }, "abc", ["spec: Too long: may not be more than 2 bytes"]],
    [{ type: "string", pattern: "^a$" }, "b", ["spec: Invalid value: \"b\": spec in body should match '^a$'"]],
    [{ type: "integer", minimum: 1 }, 0, ["spec: Invalid value: 0: spec in body should be greater than or equal to 1"]],
    [
      { type: "array", maxItems: 1, items: { type: "string" } },
      ["a", "b"],
      ["spec: Too many: 2: must have at most 1 item"],
    ],
    [{ type: "object", required: ["a"], properties: { a: { type: "string" } } }, {}, ["spec.a: Required value"]],
    [{ "x-kubernetes-int-or-string": true }, "http", []],
    [
      { "x-kubernetes-int-or-string": true },
      true,
      ['spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean"'],
    ],
    [{ type: "string", format: "date-time" }, "2026-01-01T00:00:00Z", []],
    [{ type: "string", format: "nobody-knows" }, "x", []],
  ])("validates %j against %j: %j", (schema, value, expected) => expect(errors(schema, value)).toEqual(expected))

  // A backtracking engine would not terminate here.
  it("matches patterns in linear time", () => {
    expect(errors({ type: "string", pattern: "^(a+)+$" }, `${"a".repeat(5000)}b`)).toHaveLength(1)
  })

  it("ignores errors of unchanged parts", () => {
    const schema = compileSchema({
      type: "object",
      properties: { a: { type: "string", maxLength: 1 }, b: { type: "string" } },
    })
    expect(validateSchema(schema, { a: "long", b: "2" }, "", { a: "long", b: "1" })).toEqual([])
    expect(validateSchema(schema, { a: "longer" }, "", { a: "long" })).toHaveLength(1)
  })
})

describe("shape", () => {
  const schema = compileSchema({
    type: "object",
    properties: {
      a: { type: "string", default: "x" },
      nested: { type: "object", properties: { n: { type: "integer", default: 5 } } },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      map: { type: "object", additionalProperties: { type: "object", properties: { v: { type: "string" } } } },
    },
  })

  it("fills in defaults if the parent exists", () => {
    expect(applyDefaults(schema, {})).toEqual({ a: "x" })
    expect(applyDefaults(schema, { nested: {}, a: null })).toEqual({ nested: { n: 5 }, a: "x" })
  })

  it("prunes unknown fields and reports them", () => {
    const gone: string[] = []
    expect(prune(schema, { a: "1", b: 2, free: { any: 1 }, map: { m: { v: "1", w: 2 } } }, gone, false)).toEqual({
      a: "1",
      free: { any: 1 },
      map: { m: { v: "1" } },
    })
    expect(gone.sort()).toEqual(["b", "map.m.w"])
  })
})

describe("rules", () => {
  const validations = (...list: JsonObject[]): JsonObject => ({
    type: "object",
    properties: { min: { type: "integer" }, max: { type: "integer" } },
    "x-kubernetes-validations": list,
  })

  it("reject with their message, or with the expression", () => {
    const rule = "self.min <= self.max"
    expect(rules(validations({ rule, message: "order" }), { min: 5, max: 1 })).toEqual(["spec: Invalid value: order"])
    expect(rules(validations({ rule }), { min: 5, max: 1 })).toEqual([`spec: Invalid value: failed rule: ${rule}`])
    expect(rules(validations({ rule }), { min: 1, max: 5 })).toEqual([])
  })

  it("compare with the old value only if there is one", () => {
    const schema = validations({ rule: "self.min >= oldSelf.min", message: "never down" })
    expect(rules(schema, { min: 1 })).toEqual([])
    expect(rules(schema, { min: 1 }, { min: 2 })).toEqual(["spec: Invalid value: never down"])
  })

  it("report errors of their evaluation", () => {
    expect(rules(validations({ rule: "self.min / 0 == 1", message: "m" }), { min: 1 })).toEqual([
      'spec: Invalid value: "object": division by zero evaluating rule: m',
    ])
  })
})

describe("checkSchema", () => {
  const check = (schema: JsonObject): string[] =>
    checkSchema({ type: "object", properties: { spec: schema } }, "s").map(error => `${error.field}: ${error.type}`)

  it.each<[string, JsonObject, string[]]>([
    ["a plain schema", { type: "object", properties: { a: { type: "string" } } }, []],
    ["a missing type", { properties: {} }, ["s.properties[spec].type: Required"]],
    ["an array without items", { type: "array" }, ["s.properties[spec].items: Required"]],
    ["a default of the wrong type", { type: "string", default: 5 }, ["s.properties[spec].default: TypeInvalid"]],
    [
      "a rule on an unknown field",
      {
        type: "object",
        properties: { a: { type: "string" } },
        "x-kubernetes-validations": [{ rule: "self.b == 'x'" }],
      },
      ["s.properties[spec].x-kubernetes-validations[0].rule: Invalid"],
    ],
    [
      "a rule that is not a bool",
      { type: "string", "x-kubernetes-validations": [{ rule: "size(self)" }] },
      ["s.properties[spec].x-kubernetes-validations[0].rule: Invalid"],
    ],
  ])("%s", (_, schema, expected) => expect(check(schema)).toEqual(expected))
})
