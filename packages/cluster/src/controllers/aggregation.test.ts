// SPDX-License-Identifier: Apache-2.0
//
// A ClusterRole with an aggregation rule has the rules of the roles that its selectors match.

import { eventually } from "@merlon/wire/testing"
import { afterEach, beforeEach, expect, it } from "vitest"
import { RegistryBench } from "../testing/registry.js"
import { asArray, equal, type JsonObject } from "../value.js"
import { RoleAggregator } from "./aggregation.js"

const ROLES = { group: "rbac.authorization.k8s.io", plural: "clusterroles" }

let bench: RegistryBench
beforeEach(async () => {
  bench = await RegistryBench.start()
  await bench.run(new RoleAggregator(bench.registry))
})
afterEach(() => bench.stop())

const rule = (resource: string): JsonObject => ({ apiGroups: [""], resources: [resource], verbs: ["get"] })
const role = (name: string, resources: readonly string[], labels: JsonObject = {}): Promise<JsonObject> =>
  bench.create(ROLES, "", { metadata: { name, labels }, rules: resources.map(rule) })
const aggregate = (name: string, labels: readonly JsonObject[], own: JsonObject = {}): Promise<JsonObject> => {
  const clusterRoleSelectors = labels.map(matchLabels => ({ matchLabels }))
  return bench.create(ROLES, "", {
    metadata: { name, labels: own },
    aggregationRule: { clusterRoleSelectors },
    rules: [],
  })
}
const has = (name: string, ...resources: readonly string[]): Promise<void> =>
  eventually(
    async () => {
      const found = await bench.store.get(`/registry/clusterroles/${name}`)
      return equal(asArray(found?.object.rules), resources.map(rule))
    },
    { what: `the ClusterRole ${name} has the rules of ${resources.join(", ") || "nothing"}` },
  )

it("has the rules of all matching roles, each once, sorted by name", async () => {
  await role("part-b", ["pods", "nodes"], { to: "reader" })
  await role("part-a", ["pods"], { to: "reader" })
  await role("part-c", ["events"], { also: "reader" })
  await role("other", ["secrets"], { to: "writer" })
  await aggregate("reader", [{ to: "reader" }, { also: "reader" }])
  await has("reader", "pods", "nodes", "events")
})

it("follows roles that are added and deleted", async () => {
  await aggregate("reader", [{ to: "reader" }])
  await has("reader")
  await role("part", ["pods"], { to: "reader" })
  await has("reader", "pods")
  await bench.remove(ROLES, "", "part")
  await has("reader")
})

it("has the rules of another aggregated role", async () => {
  await aggregate("outer", [{ to: "outer" }])
  await aggregate("inner", [{ to: "inner" }], { to: "outer" })
  await role("part", ["pods"], { to: "inner" })
  await has("inner", "pods")
  await has("outer", "pods")
})

it("writes nothing if nothing changed", async () => {
  await role("part", ["pods"], { to: "reader" })
  await aggregate("reader", [{ to: "reader" }])
  await has("reader", "pods")
  const aggregator = new RoleAggregator(bench.registry)
  const before = bench.store.revision()
  await aggregator.aggregate()
  expect(bench.store.revision()).toBe(before)
})
