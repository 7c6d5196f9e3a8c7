// SPDX-License-Identifier: Apache-2.0
//
// What the server adds by itself: only to new objects, and never over a value that the client set.

import { describe, expect, it } from "vitest"
import { asArray, asObject, dig, type Json, type JsonObject } from "../value.js"
import { builtinMutation } from "./builtin-mutation.js"
import { type Asked, call } from "./testing/call.js"

function mutated(asked: Asked): JsonObject {
  const { kind, request, context } = call(asked)
  return builtinMutation(kind, request, context)
}

const tolerationsOf = (tolerations: Json[]): Json[] =>
  asArray(dig(mutated({ object: { spec: { tolerations } } }), "spec", "tolerations")).map(
    item => asObject(item).key ?? "",
  )

const NOT_READY = "node.kubernetes.io/not-ready"
const UNREACHABLE = "node.kubernetes.io/unreachable"

describe("a new Pod tolerates nodes that fail", () => {
  it.each<[string, Json[], Json[]]>([
    ["of both kinds where it says nothing", [], [NOT_READY, UNREACHABLE]],
    ["of the kind that it does not name", [{ key: NOT_READY, effect: "NoExecute" }], [NOT_READY, UNREACHABLE]],
    ["as it says for every effect", [{ key: NOT_READY }, { key: UNREACHABLE }], [NOT_READY, UNREACHABLE]],
    ["not twice where it tolerates everything", [{ operator: "Exists" }], [""]],
    [
      "as others do where it only tolerates not being placed there",
      [{ key: NOT_READY, effect: "NoSchedule" }],
      [NOT_READY, NOT_READY, UNREACHABLE],
    ],
  ])("%s", (_, given, want) => expect(tolerationsOf(given)).toEqual(want))

  it("for five minutes", () => {
    const added = dig(mutated({ object: { spec: {} } }), "spec", "tolerations")
    expect(added).toContainEqual({ key: NOT_READY, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 })
  })
})

it("a new Pod keeps the priority it was given", () => {
  expect(mutated({ object: { spec: {} } })).toMatchObject({
    spec: { priority: 0, preemptionPolicy: "PreemptLowerPriority" },
  })
  expect(mutated({ object: { spec: { priority: 7, preemptionPolicy: "Never" } } })).toMatchObject({
    spec: { priority: 7, preemptionPolicy: "Never" },
  })
})

it("a new node is not ready until its status says so", () => {
  const taint = { key: NOT_READY, effect: "NoSchedule" }
  for (const taints of [[], [taint]])
    expect(dig(mutated({ plural: "nodes", object: { spec: { taints } } }), "spec", "taints")).toEqual([taint])
})

it("a request for a certificate names who sent it, whatever it claims", () => {
  const claimed = { username: "admin", uid: "1", groups: ["system:masters"], extra: { a: ["b"] }, signerName: "s" }
  const asked = { plural: "certificatesigningrequests", group: "certificates.k8s.io", object: { spec: claimed } }
  expect(mutated(asked)).toEqual({ spec: { signerName: "s", username: "u" } })
})

it.each<[string, Asked]>([
  ["an update", { operation: "UPDATE" }],
  ["a write to a subresource", { subresource: "status" }],
  ["a kind that has no such rule", { plural: "configmaps" }],
])("%s is left as it came", (_, asked) => {
  const object = { spec: {} }
  expect(mutated({ ...asked, object })).toBe(object)
})

it("what was sent is not changed in place: others may hold it", () => {
  const object = { spec: {} }
  mutated({ object })
  expect(object).toEqual({ spec: {} })
})
