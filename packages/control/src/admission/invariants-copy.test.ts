// SPDX-License-Identifier: Apache-2.0
import { setImmediate as listed } from "node:timers/promises"
import { expect, it } from "vitest"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { INVARIANT, MESH, OPS } from "../proofs/testing/documents.js"
import { policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { reviewed } from "./assessment.js"
import { caughtUp } from "./invariants-copy.js"

const one = (generation = 1): KubernetesObject =>
  policyOf("PolicyInvariant", "foo/admin", INVARIANT.spec, { generation })

function stage(ours: readonly KubernetesObject[], stored: readonly KubernetesObject[]) {
  const { policies } = viewsStage()
  for (const object of ours) policies.set("PolicyInvariant", object)
  policies.set("AuthorizationPolicy", policyOf("AuthorizationPolicy", "foo/ops", OPS.spec))
  const client = { list: async () => ({ items: stored, resourceVersion: "1" }) as never } // only what is read
  const ask = (patienceMs = 60_000) => caughtUp({ client, names: MESH.names, policies, patienceMs })
  return { policies, ask }
}

it.each([
  ["the same", [one()], [one()]],
  ["none", [], []],
  ["a newer one than was listed", [one(3)], [one(2)]],
])("is up to date with %s, so nothing is reviewed again", async (_, ours, stored) => {
  expect(await stage(ours, stored).ask()).toBe(false)
})

it("is out of date until a deleted invariant is removed", async () => {
  const { policies, ask } = stage([one()], [])
  const answer = ask()
  await listed()
  policies.delete("PolicyInvariant", "foo", "admin")
  expect(await answer).toBe(true)
})

it("is out of date until a changed invariant arrives", async () => {
  const { policies, ask } = stage([one(1)], [one(2)])
  const answer = ask()
  await listed()
  policies.set("PolicyInvariant", one(2))
  expect(await answer).toBe(true)
})

it("does not wait forever", async () => {
  expect(await stage([one()], []).ask(1)).toBe(false)
})

it("reviews only a rejection again", async () => {
  const question = { ask: "removal", key: "AuthorizationPolicy/foo/ops", namespace: "foo" } as const
  const pending = async (answers: string[][], behind: boolean) => {
    const prover = { review: async () => ({ rejections: answers.shift() ?? ["asked too often"], warnings: [] }) }
    const rest = { mesh: MESH, policies: { items: new Map() }, cutOff: () => [], isBeingDeleted: async () => false }
    return reviewed(question, { ...rest, prover, caughtUp: async () => behind })
  }
  expect(await pending([["no"], []], true)).toMatchObject({ rejections: [] })
  expect(await pending([["no"], []], false)).toMatchObject({ rejections: ["no"] })
  expect(await pending([[]], true)).toMatchObject({ rejections: [] })
})
