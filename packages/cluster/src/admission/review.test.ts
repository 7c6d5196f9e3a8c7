// SPDX-License-Identifier: Apache-2.0
//
// The content of an AdmissionReview: exactly the request, in the fields of the API.

import { expect, it } from "vitest"
import type { JsonObject } from "../value.js"
import { reviewRequest } from "./review.js"
import { type Asked, call } from "./testing/call.js"

const told = (asked: Asked, context: object = {}): JsonObject => {
  const asking = call(asked)
  return reviewRequest({ ...asking, context: { ...asking.context, ...context } })
}

const PODS = { group: "", version: "v1", resource: "pods" }
const POD = { group: "", version: "v1", kind: "Pod" }
const object = { metadata: { name: "p", namespace: "shop" } }

it("names the user, the object and its kind", () => {
  const user = { name: "jane", uid: "7", groups: ["a"], extra: { scopes: ["x"] } }
  expect(told({ object }, { user })).toEqual({
    ...{ uid: expect.stringMatching(/^[0-9a-f-]{36}$/), kind: POD, resource: PODS },
    ...{ requestKind: POD, requestResource: PODS, name: "p", namespace: "shop", operation: "CREATE" },
    userInfo: { username: "jane", uid: "7", groups: ["a"], extra: { scopes: ["x"] } },
    ...{ object, oldObject: null, dryRun: false, options: {} },
  })
})

it("gives each request its own uid", () => {
  expect(told({ object }).uid).not.toBe(told({ object }).uid)
})

it.each<[string, Asked, object, JsonObject]>([
  [
    "a subresource in both fields",
    { object, subresource: "status" },
    {},
    { subResource: "status", requestSubResource: "status" },
  ],
  ["a deletion as the old object", { operation: "DELETE", old: object }, {}, { name: "p", object: null }],
  ["the name from the path if the object has none", { object: { metadata: {} } }, { name: "given" }, { name: "given" }],
  [
    "a Namespace as its own namespace",
    { plural: "namespaces", object: { metadata: { name: "shop" } } },
    { namespace: "" },
    { name: "shop", namespace: "shop" },
  ],
  ["whether it is a dry run", { object }, { dryRun: true }, { dryRun: true }],
])("sends %s", (_, asked, context, want) => expect(told(asked, context)).toMatchObject(want))

it.each<[string, Asked, object, string]>([
  ["no name before one is generated", { object: { metadata: { generateName: "p-" } } }, { name: "" }, "name"],
  ["no namespace for cluster-scoped objects", { plural: "nodes", object }, {}, "namespace"],
  ["no subresource if there is none", { object }, {}, "subResource"],
])("sends %s", (_, asked, context, field) => expect(told(asked, context)).not.toHaveProperty(field))
