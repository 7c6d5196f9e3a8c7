// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { adoptedFields } from "./adopt.js"
import { LAST_APPLIED, withLastApplied } from "./last-applied.js"

const object = (managedFields: unknown) => ({ apiVersion: "v1", kind: "A", metadata: { name: "a", managedFields } })
const theirs = { manager: "kubectl-client-side-apply", operation: "Update", fieldsV1: { "f:a": { "f:b": {} } } }
const ours = { manager: "merlonctl", operation: "Apply", fieldsV1: { "f:a": { "f:c": {} }, "f:d": {} } }
const other = { manager: "helm", operation: "Update", fieldsV1: { "f:e": {} } }

describe("fields that kubectl applied", () => {
  it("become ours, besides those of other managers", () => {
    expect(adoptedFields(object([other, theirs]))).toEqual([
      other,
      { ...theirs, manager: "merlonctl", operation: "Apply" },
    ])
  })

  it("are merged with those that are already ours", () => {
    expect(adoptedFields(object([theirs, ours]))).toEqual([
      { manager: "merlonctl", operation: "Apply", fieldsV1: { "f:a": { "f:b": {}, "f:c": {} }, "f:d": {} } },
    ])
  })

  it.each([
    ["nobody", undefined],
    ["others", [other, ours]],
    ["kubectl by another command", [{ ...theirs, manager: "kubectl-edit" }]],
    ["kubectl on a subresource", [{ ...theirs, subresource: "status" }]],
  ])("are left alone if %s manages them", (_, managedFields) => {
    expect(adoptedFields(object(managedFields))).toBeUndefined()
  })
})

it("records a document like kubectl, byte for byte", () => {
  const document = {
    kind: "A",
    apiVersion: "v1",
    metadata: { namespace: "n", name: "a", annotations: { z: "1", [LAST_APPLIED]: "old" } },
    spec: { b: "<&>\u2028", a: [{ d: 1, c: 2 }] },
  }
  const { metadata } = withLastApplied(document)
  expect(metadata.annotations).toEqual({
    z: "1",
    [LAST_APPLIED]:
      '{"apiVersion":"v1","kind":"A","metadata":{"annotations":{"z":"1"},"name":"a","namespace":"n"},"spec":{"a":[{"c":2,"d":1}],"b":"\\u003c\\u0026\\u003e\\u2028"}}\n',
  })
})
