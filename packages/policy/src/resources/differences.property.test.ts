// SPDX-License-Identifier: Apache-2.0
// Compares the validator with Ajv, which implements all of JSON Schema, on documents that are nearly valid.

import { Ajv } from "ajv"
import fc from "fast-check"
import { describe, expect, inject, it } from "vitest"
import { findDifferences, KEYWORDS, type SchemaNode } from "./differences.js"
import { KINDS } from "./kinds.js"

const ajv = new Ajv({ allErrors: true, verbose: true, strict: false, validateFormats: false })

/** Keyword, path and field of each difference, in order. */
type Told = readonly (readonly [keyword: string, at: string, field: string])[]

function ours(schema: SchemaNode, value: unknown): Told {
  const received: [string, string, string][] = []
  findDifferences(schema, value, [], ({ keyword, at, field = "" }) => {
    received.push([
      keyword,
      at.map(step => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""),
      field,
    ])
  })
  return received
}

function theirs(schema: SchemaNode, value: unknown): Told {
  const validate = ajv.compile(schema)
  validate(value)
  return (
    (validate.errors ?? [])
      // If the type is wrong too, our validator reports only the type.
      .filter(({ keyword, data }) => keyword !== "enum" || typeof data === "string")
      .filter(({ keyword, data }) => !["minimum", "maximum"].includes(keyword) || Number.isInteger(data))
      .map(({ keyword, instancePath, params }) => {
        const field = params.missingProperty ?? params.additionalProperty ?? ""
        return [keyword, instancePath, String(field)] as const
      })
  )
}

/** Values that a schema accepts, and sometimes others. */
function near(schema: SchemaNode): fc.Arbitrary<unknown> {
  const odd = fc.oneof(
    fc.constantFrom(null, true, 0, 1.5, -1, 1e12, "", "a", "😀", [], {}, Number.NaN),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const right = (): fc.Arbitrary<unknown> => {
    switch (schema.type) {
      case "string":
        return fc.oneof(
          ...(schema.enum === undefined ? [] : [fc.constantFrom(...schema.enum)]),
          fc.string({ maxLength: 6 }),
          fc.string({ unit: "grapheme", maxLength: 6 }),
          fc.constantFrom((schema.maxLength ?? 0) < 5_000 ? "😀".repeat(schema.maxLength ?? 1) : "", "x".repeat(2_100)),
        )
      case "integer":
        return fc.oneof(fc.integer(), fc.integer({ min: (schema.minimum ?? 0) - 1, max: (schema.maximum ?? 9) + 1 }))
      case "boolean":
        return fc.boolean()
      case "array":
        return fc.array(near(schema.items ?? {}), { maxLength: 3 })
      default: {
        const named = Object.entries(schema.properties ?? {}).map(([field, child]) => [field, near(child)] as const)
        const others = typeof schema.additionalProperties === "object" ? near(schema.additionalProperties) : odd
        const extra = fc.dictionary(fc.constantFrom("a", "b/c", "~", "constructor", "toString", "mode"), others, {
          maxKeys: 2,
        })
        return fc
          .tuple(
            fc.record(Object.fromEntries(named), { requiredKeys: [] }),
            fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: extra }),
          )
          .map(([known, more]) => ({ ...more, ...known }))
      }
    }
  }
  return fc.oneof({ weight: 9, arbitrary: right() }, { weight: 1, arbitrary: odd })
}

describe.each(KINDS.map(({ kind, spec }) => ({ kind, schema: spec as SchemaNode })))(
  "a spec of $kind",
  ({ schema }) => {
    it("differs from its schema exactly if Ajv reports it, in the same order", () => {
      const documents = near(schema)
      fc.assert(
        fc.property(documents, value => {
          expect(ours(schema, value)).toEqual(theirs(schema, value))
        }),
        { numRuns: 150 * inject("effort") },
      )
    })

    it("uses only keywords that the validator supports", () => {
      const meansNothing = /^(?:x-.*|description|default|format)$/
      const look = (node: SchemaNode): void => {
        const keywords = Object.keys(node).filter(keyword => !meansNothing.test(keyword))
        expect(KEYWORDS).toEqual(expect.arrayContaining(keywords))
        for (const child of Object.values(node.properties ?? {})) look(child)
        if (node.items !== undefined) look(node.items)
        if (typeof node.additionalProperties === "object") look(node.additionalProperties)
      }
      look(schema)
    })
  },
)

it("accepts no value for a schema that it does not support", () => {
  expect(ours({ type: "number" }, 1)).toEqual([["type", "", ""]])
})
