// SPDX-License-Identifier: Apache-2.0
//
// Defaults that the server adds: only to new objects, and never over a value that the client set.

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

describe("the tolerations of a new Pod", () => {
  it.each<[string, Json[], Json[]]>([
    ["tolerate both conditions if the Pod has none", [], [NOT_READY, UNREACHABLE]],
    [
      "tolerate the condition that the Pod does not name",
      [{ key: NOT_READY, effect: "NoExecute" }],
      [NOT_READY, UNREACHABLE],
    ],
    ["keep a toleration of every effect", [{ key: NOT_READY }, { key: UNREACHABLE }], [NOT_READY, UNREACHABLE]],
    ["are unchanged if the Pod tolerates everything", [{ operator: "Exists" }], [""]],
    [
      "are added if the Pod only tolerates not being scheduled there",
      [{ key: NOT_READY, effect: "NoSchedule" }],
      [NOT_READY, NOT_READY, UNREACHABLE],
    ],
  ])("%s", (_, given, want) => expect(tolerationsOf(given)).toEqual(want))

  it("last five minutes", () => {
    const added = dig(mutated({ object: { spec: {} } }), "spec", "tolerations")
    expect(added).toContainEqual({ key: NOT_READY, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 })
  })
})

it("sets the priority of a new Pod unless it has one", () => {
  expect(mutated({ object: { spec: {} } })).toMatchObject({
    spec: { priority: 0, preemptionPolicy: "PreemptLowerPriority" },
  })
  expect(mutated({ object: { spec: { priority: 7, preemptionPolicy: "Never" } } })).toMatchObject({
    spec: { priority: 7, preemptionPolicy: "Never" },
  })
})

it("marks a new node as not ready until its status is reported", () => {
  const taint = { key: NOT_READY, effect: "NoSchedule" }
  for (const taints of [[], [taint]])
    expect(dig(mutated({ plural: "nodes", object: { spec: { taints } } }), "spec", "taints")).toEqual([taint])
})

it("replaces the claimed user of a certificate signing request with the sender", () => {
  const claimed = { username: "admin", uid: "1", groups: ["system:masters"], extra: { a: ["b"] }, signerName: "s" }
  const asked = { plural: "certificatesigningrequests", group: "certificates.k8s.io", object: { spec: claimed } }
  expect(mutated(asked)).toEqual({ spec: { signerName: "s", username: "u" } })
})

it.each<[string, Asked]>([
  ["an update", { operation: "UPDATE" }],
  ["a write to a subresource", { subresource: "status" }],
  ["a kind that has no such rule", { plural: "configmaps" }],
])("leaves %s unchanged", (_, asked) => {
  const object = { spec: {} }
  expect(mutated({ ...asked, object })).toBe(object)
})

it("does not change the object in place, because other code may hold it", () => {
  const object = { spec: {} }
  mutated({ object })
  expect(object).toEqual({ spec: {} })
})
