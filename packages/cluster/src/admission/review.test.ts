// SPDX-License-Identifier: Apache-2.0
//
// The content of an AdmissionReview: exactly the request, in the fields of the API.

import { expect, it } from "vitest"
import type { JsonObject } from "../value.js"
import { reviewRequest } from "./review.js"
import { type Asked, call } from "./testing/call.js"

const resultOf = (asked: Asked, context: object = {}): JsonObject => {
  const pending = call(asked)
  return reviewRequest({ ...pending, context: { ...pending.context, ...context } })
}

const PODS = { group: "", version: "v1", resource: "pods" }
const POD = { group: "", version: "v1", kind: "Pod" }
const object = { metadata: { name: "p", namespace: "shop" } }

it("names the user, the object and its kind", () => {
  const user = { name: "jane", uid: "7", groups: ["a"], extra: { scopes: ["x"] } }
  expect(resultOf({ object }, { user })).toEqual({
    ...{ uid: expect.stringMatching(/^[0-9a-f-]{36}$/), kind: POD, resource: PODS },
    ...{ requestKind: POD, requestResource: PODS, name: "p", namespace: "shop", operation: "CREATE" },
    userInfo: { username: "jane", uid: "7", groups: ["a"], extra: { scopes: ["x"] } },
    ...{ object, oldObject: null, dryRun: false, options: {} },
  })
})

it("gives each request its own uid", () => {
  expect(resultOf({ object }).uid).not.toBe(resultOf({ object }).uid)
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
])("sends %s", (_, asked, context, want) => expect(resultOf(asked, context)).toMatchObject(want))

it.each<[string, Asked, object, string]>([
  ["no name before one is generated", { object: { metadata: { generateName: "p-" } } }, { name: "" }, "name"],
  ["no namespace for cluster-scoped objects", { plural: "nodes", object }, {}, "namespace"],
  ["no subresource if there is none", { object }, {}, "subResource"],
])("sends %s", (_, asked, context, field) => expect(resultOf(asked, context)).not.toHaveProperty(field))
