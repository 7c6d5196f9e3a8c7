// SPDX-License-Identifier: Apache-2.0

import { eventually } from "@merlon/wire/testing"
import { afterEach, beforeEach, expect, it } from "vitest"
import { RegistryBench } from "../testing/registry.js"
import { asArray, asString, dig, type JsonObject } from "../value.js"
import { GarbageCollector } from "./garbage.js"

const MAPS = { plural: "configmaps" }

let bench: RegistryBench
let collector: GarbageCollector
beforeEach(async () => {
  bench = await RegistryBench.start()
  collector = new GarbageCollector(bench.registry)
  await bench.run(collector)
})
afterEach(() => bench.stop())

async function create(name: string, owners: readonly JsonObject[] = [], finalizers: readonly string[] = []) {
  const ownerReferences = owners.map(owner => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name: asString(dig(owner, "metadata", "name")),
    uid: asString(dig(owner, "metadata", "uid")),
  }))
  return bench.create(MAPS, "default", { metadata: { name, ownerReferences, finalizers: [...finalizers] } })
}
const find = async (name: string): Promise<JsonObject | undefined> =>
  (await bench.registry.find(bench.registry.catalog.builtin("", "v1", "configmaps"), "default", name))?.object
const remove = (name: string, propagationPolicy = "Background") =>
  bench.remove(MAPS, "default", name, { propagationPolicy })
const isGone = (name: string) =>
  eventually(async () => (await find(name)) === undefined, { what: `${name} is deleted` })
const ownersOf = async (name: string): Promise<readonly string[]> =>
  asArray(dig(await find(name), "metadata", "ownerReferences")).map(ref => asString(dig(ref, "name")))

it("deletes the dependents of a deleted owner, and their dependents", async () => {
  const owner = await create("owner")
  const child = await create("child", [owner])
  await create("grandchild", [child])
  await create("other")
  await remove("owner")
  await isGone("grandchild")
  expect(await find("child")).toBeUndefined()
  expect(await find("other")).toBeDefined()
})

it("keeps an object while another owner exists, and deletes it with the last one", async () => {
  const [first, second] = [await create("first"), await create("second")]
  await create("shared", [first, second])
  // The collector processes the witness after the shared object.
  await create("witness", [first])
  await remove("first")
  await isGone("witness")
  expect(await find("shared")).toBeDefined()
  await remove("second")
  await isGone("shared")
})

it("orphans dependents if the owner's deletion asks for it, from this owner only", async () => {
  const [owner, other] = [await create("owner"), await create("other")]
  await create("single", [owner])
  await create("shared", [owner, other])
  await remove("owner", "Orphan")
  await isGone("owner")
  expect(await ownersOf("single")).toEqual([])
  expect(await ownersOf("shared")).toEqual(["other"])
})

it("keeps an owner that is deleted in the foreground until its dependents are gone", async () => {
  const owner = await create("owner")
  await create("held", [owner], ["example.com/hold"])
  await remove("owner", "Foreground")
  await eventually(async () => dig(await find("held"), "metadata", "deletionTimestamp") !== undefined, {
    what: "the owner is marked for deletion",
  })
  expect(dig(await find("owner"), "metadata", "finalizers")).toEqual(["foregroundDeletion"])
  await bench.store.commit([], [{ key: "/registry/configmaps/default/held", delete: true }])
  await isGone("owner")
})

it("continues after a restart", async () => {
  const owner = await create("owner")
  await create("child", [owner], ["example.com/hold"])
  await remove("owner", "Foreground")
  await eventually(async () => dig(await find("child"), "metadata", "deletionTimestamp") !== undefined, {
    what: "the dependent is marked for deletion",
  })
  await collector.close()
  await bench.store.commit([], [{ key: "/registry/configmaps/default/child", delete: true }])
  await bench.run(new GarbageCollector(bench.registry))
  await isGone("owner")
})

it("calls admission before a deletion, and again until it is allowed", async () => {
  const asked: string[] = []
  let isKept = true
  bench.validate = async (_, { operation, oldObject }, { user }) => {
    const name = asString(dig(oldObject ?? {}, "metadata", "name"))
    if (operation !== "DELETE" || name !== "guard") return
    asked.push(user.name)
    if (isKept) throw new Error("it is needed")
  }
  const owner = await create("owner")
  await create("guard", [owner])
  await create("other", [owner])
  await remove("owner", "Foreground")
  await isGone("other")
  await eventually(() => Promise.resolve(asked.length > 1), { what: "admission is asked again" })
  expect(await find("guard")).toBeDefined()
  expect(asked[0]).toBe("system:serviceaccount:kube-system:generic-garbage-collector")
  isKept = false
  await isGone("owner")
  expect(await find("guard")).toBeUndefined()
})

it("calls admission if the owner is already removed", async () => {
  let isKept = true
  bench.validate = async (_, { operation, oldObject }) => {
    const isGuard = dig(oldObject ?? {}, "metadata", "name") === "guard"
    if (operation === "DELETE" && isGuard && isKept) throw new Error("it is needed")
  }
  const owner = await create("owner")
  await create("guard", [owner])
  await create("witness", [owner])
  await remove("owner")
  await isGone("witness")
  expect(await find("guard")).toBeDefined()
  isKept = false
  await isGone("guard")
})
