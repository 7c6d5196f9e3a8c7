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
  ["what follows a filter", '.status.conditions[?(@.type=="Enforced")].status', ["False"]],
  ["what a filter of several names leaves", '.status.conditions[?(@.by.name=="x")].type', ["Enforced"]],
  ["nothing where a filter leaves nothing", '.status.conditions[?(@.type=="Other")].status', []],
  ["nothing where nothing is", ".status.replicas", []],
])("finds %s", (_, path, found) => {
  expect(evaluatePath(object, path)).toEqual(found)
})
