// SPDX-License-Identifier: Apache-2.0
//
// What a webhook receives: exactly the request, in the fields of AdmissionReview.

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

it("says who wants what, where, and of which kind", () => {
  const user = { name: "jane", uid: "7", groups: ["a"], extra: { scopes: ["x"] } }
  expect(told({ object }, { user })).toEqual({
    ...{ uid: expect.stringMatching(/^[0-9a-f-]{36}$/), kind: POD, resource: PODS },
    ...{ requestKind: POD, requestResource: PODS, name: "p", namespace: "shop", operation: "CREATE" },
    userInfo: { username: "jane", uid: "7", groups: ["a"], extra: { scopes: ["x"] } },
    ...{ object, oldObject: null, dryRun: false, options: {} },
  })
})

it("gives each request its own number", () => {
  expect(told({ object }).uid).not.toBe(told({ object }).uid)
})

it.each<[string, Asked, object, JsonObject]>([
  [
    "a subresource under both names",
    { object, subresource: "status" },
    {},
    { subResource: "status", requestSubResource: "status" },
  ],
  ["a deletion by what is deleted", { operation: "DELETE", old: object }, {}, { name: "p", object: null }],
  [
    "the name of the path where the object has none",
    { object: { metadata: {} } },
    { name: "given" },
    { name: "given" },
  ],
  [
    "a namespace as lying in itself",
    { plural: "namespaces", object: { metadata: { name: "shop" } } },
    { namespace: "" },
    { name: "shop", namespace: "shop" },
  ],
  ["whether it is a dry run", { object }, { dryRun: true }, { dryRun: true }],
])("tells %s", (_, asked, context, want) => expect(told(asked, context)).toMatchObject(want))

it.each<[string, Asked, object, string]>([
  ["no name where none is known yet", { object: { metadata: { generateName: "p-" } } }, { name: "" }, "name"],
  ["no namespace for what lies in none", { plural: "nodes", object }, {}, "namespace"],
  ["no subresource where there is none", { object }, {}, "subResource"],
])("tells %s", (_, asked, context, field) => expect(told(asked, context)).not.toHaveProperty(field))
