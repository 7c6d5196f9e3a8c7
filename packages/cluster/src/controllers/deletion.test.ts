// SPDX-License-Identifier: Apache-2.0
//
// The order of deletion: the Pods of a namespace before the objects that configure them, dependents with the default
// grace period, Pods without a node after their grace period.

import { eventually } from "@merlon/wire/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { StoreEvent } from "../store/store.js"
import { RegistryBench } from "../testing/registry.js"
import { asString, dig, type JsonObject } from "../value.js"
import { GarbageCollector } from "./garbage.js"
import { namespaceController } from "./namespaces.js"
import { podCollector } from "./pods.js"

let bench: RegistryBench
const seen: StoreEvent[] = []

beforeEach(async () => {
  bench = await RegistryBench.start()
  const { registry, store } = bench
  await bench.run(namespaceController(registry), new GarbageCollector(registry), podCollector(registry))
  seen.length = 0
  store.watch("/registry/", store.revision(), event => seen.push(event))
})
afterEach(() => bench.stop())

const create = (plural: string, namespace: string, object: JsonObject): Promise<JsonObject> =>
  bench.create({ plural }, namespace, object)

const remove = (plural: string, namespace: string, name: string, options = {}): Promise<JsonObject> =>
  bench.remove({ plural }, namespace, name, options)

const find = async (plural: string, namespace: string, name: string): Promise<JsonObject | undefined> =>
  (await bench.registry.find(bench.registry.catalog.builtin("", "v1", plural), namespace, name))?.object

const pod = (name: string, more: JsonObject = {}, meta: JsonObject = {}): JsonObject => ({
  metadata: { name, ...meta },
  spec: { containers: [{ name: "c", image: "i" }], ...more },
})
const ends = (): string[] => seen.filter(event => event.entry === undefined).map(event => event.key)

describe("a namespace that is deleted", () => {
  beforeEach(async () => {
    await create("namespaces", "", { metadata: { name: "shop" } })
    await create("configmaps", "shop", { metadata: { name: "policy" } })
  })

  it("loses its Pods first, although other kinds precede them alphabetically", async () => {
    for (const name of ["a", "b"]) await create("pods", "shop", pod(name))
    await remove("namespaces", "", "shop")
    await eventually(async () => (await find("namespaces", "", "shop")) === undefined, {
      what: "the namespace is deleted",
    })
    expect(ends()).toEqual([
      ...["a", "b"].map(name => `/registry/pods/shop/${name}`),
      "/registry/configmaps/shop/policy",
      "/registry/namespaces/shop",
    ])
  })

  it("keeps everything else until a Pod on a node is removed", async () => {
    await create("nodes", "", { metadata: { name: "n1" } })
    await create("pods", "shop", pod("served", { nodeName: "n1" }))
    await remove("namespaces", "", "shop")
    const marked = async (): Promise<boolean> =>
      dig(await find("pods", "shop", "served"), "metadata", "deletionGracePeriodSeconds") === 30
    await eventually(marked, { what: "the Pod on a node is marked for deletion" })
    await eventually(
      async () => JSON.stringify(await find("namespaces", "", "shop")).includes("pods. has 1 resource"),
      { what: "the namespace names the Pod that remains" },
    )
    expect(await find("configmaps", "shop", "policy")).toBeDefined()
    // The kubelet of the node reports that the Pod has ended.
    await remove("pods", "shop", "served", { gracePeriodSeconds: 0 })
    await eventually(async () => (await find("namespaces", "", "shop")) === undefined, {
      what: "the namespace is deleted",
    })
    expect(ends().slice(0, 2)).toEqual(["/registry/pods/shop/served", "/registry/configmaps/shop/policy"])
  })
})

describe("a Pod", () => {
  it("without a node is marked and then removed, and watchers see both", async () => {
    await create("pods", "default", pod("p"))
    const answer = await remove("pods", "default", "p")
    expect(dig(answer, "metadata", "deletionGracePeriodSeconds")).toBe(0)
    expect(dig(answer, "metadata", "deletionTimestamp")).toBe("2026-01-01T00:00:00Z")
    const own = seen.filter(event => event.key.endsWith("/default/p"))
    expect(own.map(event => dig(event.entry?.object, "metadata", "deletionTimestamp") ?? "none")).toEqual([
      ...["none", "2026-01-01T00:00:00Z", "none"],
    ])
    expect(own.at(-1)?.entry).toBeUndefined()
  })

  it("on an unknown node is removed after its grace period, not before", async () => {
    await create("pods", "default", pod("p", { nodeName: "gone", terminationGracePeriodSeconds: 1 }))
    await remove("pods", "default", "p")
    expect(await find("pods", "default", "p")).toBeDefined()
    bench.now += 1000
    await eventually(async () => (await find("pods", "default", "p")) === undefined, { what: "the Pod is deleted" })
  })

  it("of a deleted owner gets the default grace period", async () => {
    await create("nodes", "", { metadata: { name: "n1" } })
    const owner = await create("configmaps", "default", { metadata: { name: "owner" } })
    const uid = asString(dig(owner, "metadata", "uid"))
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }]
    await create("pods", "default", pod("p", { nodeName: "n1" }, { ownerReferences }))
    await remove("configmaps", "default", "owner")
    await eventually(
      async () => dig(await find("pods", "default", "p"), "metadata", "deletionTimestamp") !== undefined,
      { what: "the Pod is marked for deletion" },
    )
    expect(dig(await find("pods", "default", "p"), "metadata", "deletionGracePeriodSeconds")).toBe(30)
  })
})
