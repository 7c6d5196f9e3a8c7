// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { evaluatePath } from "./json-path.js"

const object = {
  spec: { hosts: ["a", "b"], "odd.name": 1 },
  status: {
    conditions: [
      { type: "Accepted", status: "True" },
      { type: "Enforced", status: "False", by: { name: "x" } },
    ],
  },
}

it.each([
  ["a field", ".spec.hosts", [["a", "b"]]],
  ["an index", ".spec.hosts[1]", ["b"]],
  ["an index from the end", ".spec.hosts[-1]", ["b"]],
  ["every element", ".spec.hosts[*]", ["a", "b"]],
  ["a name with a dot", ".spec.odd\\.name", [1]],
  ["a quoted name", ".spec['odd.name']", [1]],
  ["a field after a filter", '.status.conditions[?(@.type=="Enforced")].status', ["False"]],
  ["elements that match a filter on a nested field", '.status.conditions[?(@.by.name=="x")].type', ["Enforced"]],
  ["nothing if no element matches a filter", '.status.conditions[?(@.type=="Other")].status', []],
  ["nothing if the field does not exist", ".status.replicas", []],
])("finds %s", (_, path, found) => {
  expect(evaluatePath(object, path)).toEqual(found)
})
