// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { completionsAt } from "./completion.js"
import { readDocument, stepsOf } from "./document.js"
import type { Schema } from "./schema.js"

const TEXT = `apiVersion: x/v1
kind: AuthorizationPolicy
metadata:
  name: a
spec:
  rules:
    - to:
        - operation:
            method: [GET]
`

describe("a policy's text", () => {
  it("is parsed, and an error is at its field's line", () => {
    const { value, errors, placed } = readDocument(TEXT)
    expect(value?.metadata.name).toBe("a")
    expect(errors).toEqual([])
    const [error] = placed([{ field: "spec.rules[0].to[0].operation.method", message: "unknown" }])
    expect(error).toMatchObject({ line: 9, message: "spec.rules[0].to[0].operation.method: unknown" })
    expect(TEXT.slice(error?.from, error?.to)).toBe("method")
  })

  it("has the error of a missing field at its nearest parent", () => {
    expect(readDocument(TEXT).placed([{ field: "spec.selector.matchLabels", message: "is missing" }])[0]?.line).toBe(5)
    expect(readDocument(TEXT).placed([{ field: "nowhere", message: "is missing" }])[0]?.line).toBe(1)
  })

  test.each([
    ["invalid YAML", "kind: [", 1],
    ["a list", "- a", 1],
    ["a string", "hello", 1],
    ["an empty text", "", 1],
    ["a missing name", "kind: A\nmetadata: {}", 1],
    ["a duplicate key, at the second one", "kind: A\nmetadata: { name: a }\nkind: B", 3],
  ])("reports the line of the error for %s", (_, text, line) => {
    const { value, errors } = readDocument(text)
    expect(value).toBeUndefined()
    expect(errors[0]?.line).toBe(line)
  })

  it("rejects aliases that expand exponentially", () => {
    const lines = Array.from({ length: 12 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(9)}]`)
    const { value, errors } = readDocument(["kind: A", "metadata: { name: a }", "a0: &a0 [x]", ...lines].join("\n"))
    expect(value).toBeUndefined()
    expect(errors).toHaveLength(1)
  })
})

test.each([
  ["spec.rules[0].to", ["spec", "rules", 0, "to"]],
  ["spec.when[0].values[12]", ["spec", "when", 0, "values", 12]],
  ["metadata.labels[a.b/c]", ["metadata", "labels", "a.b/c"]],
])("%s has the path %j", (field, steps) => {
  expect(stepsOf(field)).toEqual(steps)
})

describe("completion", () => {
  const schema: Schema = {
    properties: {
      spec: {
        type: "object",
        properties: {
          action: { type: "string", enum: ["ALLOW", "DENY"] },
          open: { type: "boolean" },
          rules: { type: "array", items: { type: "object", properties: { to: { type: "array" } } } },
        },
      },
    },
  }
  const labels = (before: readonly string[], typed: string) =>
    completionsAt(schema, before, typed)?.options.map(({ label }) => label)

  test.each([
    ["the kind's own fields", [], "s", ["spec"]],
    ["the fields of the surrounding map", ["spec:"], "  ac", ["action", "open", "rules"]],
    ["the fields of a list's items", ["spec:", "  rules:"], "    - t", ["to"]],
    ["the values of a field", ["spec:"], "  action: A", ["ALLOW", "DENY"]],
    ["true and false", ["spec:"], "  open: ", ["true", "false"]],
    ["nothing for an unknown field", ["metadata:"], "  na", []],
  ])("offers %s", (_, before, typed, expected) => {
    expect(labels(before, typed)).toEqual(expected)
  })
})
