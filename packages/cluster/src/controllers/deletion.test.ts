// SPDX-License-Identifier: Apache-2.0
//
// In which order things go: the Pods of a namespace before what governs them, dependents with the grace a client would
// give them, Pods of nobody once their grace is over.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { bootstrap } from "../bootstrap.js"
import { Catalog } from "../registry/catalog.js"
import type { RequestContext } from "../registry/context.js"
import { deleteObject } from "../registry/deletion.js"
import { type Admission, Registry } from "../registry/registry.js"
import { openEmbeddedStore } from "../store/embedded/open.js"
import type { Store, StoreEvent } from "../store/store.js"
import { until } from "../store/testing/until.js"
import { asString, dig, type JsonObject } from "../value.js"
import { GarbageCollector } from "./garbage.js"
import { NamespaceController } from "./namespaces.js"
import { PodCollector } from "./pods.js"

const open: Admission = {
  authorizeCreate: () => Promise.resolve(),
  mutate: (_kind, request) => Promise.resolve(request.object ?? {}),
  validate: () => Promise.resolve(),
}

let folder: string
let store: Store
let registry: Registry
let now: number
let stop: (() => Promise<void>)[]
const seen: StoreEvent[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "deletion-"))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

beforeEach(async () => {
  now = Date.parse("2026-01-01T00:00:00Z")
  store = await openEmbeddedStore(await mkdtemp(join(folder, "store-")))
  registry = new Registry(store, new Catalog(), open, () => now)
  await bootstrap(registry)
  const controllers = [new NamespaceController(registry), new GarbageCollector(registry), new PodCollector(registry)]
  for (const controller of controllers) await controller.start()
  seen.length = 0
  const watch = store.watch("/registry/", store.revision(), event => seen.push(event))
  stop = [...controllers.map(controller => () => controller.close()), () => Promise.resolve(watch.close())]
})
afterEach(async () => {
  for (const end of stop) await end()
  await store.close()
})

const context = (namespace: string, name: string): RequestContext => ({
  ...{ user: { name: "u", uid: "", groups: [], extra: {} }, namespace, name, subresource: "", dryRun: false },
  ...{ fieldManager: "t", fieldValidation: "Ignore", warn: () => undefined, now: () => now, signal: undefined },
})

async function create(plural: string, namespace: string, object: JsonObject): Promise<JsonObject> {
  const kind = registry.catalog.builtin("", "v1", plural)
  return registry.create(kind, kind.decode(object).object, context(namespace, ""), {})
}

async function remove(plural: string, namespace: string, name: string, options = {}): Promise<JsonObject> {
  const kind = registry.catalog.builtin("", "v1", plural)
  return (await deleteObject(registry, kind, context(namespace, name), options, {})).answer
}

const find = async (plural: string, namespace: string, name: string): Promise<JsonObject | undefined> =>
  (await registry.find(registry.catalog.builtin("", "v1", plural), namespace, name))?.object

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

  it("loses its Pods before anything else, although other kinds come first by name", async () => {
    for (const name of ["a", "b"]) await create("pods", "shop", pod(name))
    await remove("namespaces", "", "shop")
    await until(async () => (await find("namespaces", "", "shop")) === undefined)
    expect(ends()).toEqual([
      ...["a", "b"].map(name => `/registry/pods/shop/${name}`),
      "/registry/configmaps/shop/policy",
      "/registry/namespaces/shop",
    ])
  })

  it("keeps everything else until a Pod that somebody runs has gone", async () => {
    await create("nodes", "", { metadata: { name: "n1" } })
    await create("pods", "shop", pod("served", { nodeName: "n1" }))
    await remove("namespaces", "", "shop")
    const marked = async (): Promise<boolean> =>
      dig(await find("pods", "shop", "served"), "metadata", "deletionGracePeriodSeconds") === 30
    await until(marked)
    await until(async () => JSON.stringify(await find("namespaces", "", "shop")).includes("pods. has 1 resource"))
    expect(await find("configmaps", "shop", "policy")).toBeDefined()
    // The kubelet of its node says that it has ended.
    await remove("pods", "shop", "served", { gracePeriodSeconds: 0 })
    await until(async () => (await find("namespaces", "", "shop")) === undefined)
    expect(ends().slice(0, 2)).toEqual(["/registry/pods/shop/served", "/registry/configmaps/shop/policy"])
  })
})

describe("a Pod", () => {
  it("that no node runs is marked and gone, and watchers see both", async () => {
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

  it("on a node that nobody knows goes when its grace is over, not before", async () => {
    await create("pods", "default", pod("p", { nodeName: "gone", terminationGracePeriodSeconds: 1 }))
    await remove("pods", "default", "p")
    expect(await find("pods", "default", "p")).toBeDefined()
    now += 1000
    await until(async () => (await find("pods", "default", "p")) === undefined)
  })

  it("of a deleted owner gets the grace that a client would give it", async () => {
    await create("nodes", "", { metadata: { name: "n1" } })
    const owner = await create("configmaps", "default", { metadata: { name: "owner" } })
    const uid = asString(dig(owner, "metadata", "uid"))
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }]
    await create("pods", "default", pod("p", { nodeName: "n1" }, { ownerReferences }))
    await remove("configmaps", "default", "owner")
    await until(async () => dig(await find("pods", "default", "p"), "metadata", "deletionTimestamp") !== undefined)
    expect(dig(await find("pods", "default", "p"), "metadata", "deletionGracePeriodSeconds")).toBe(30)
  })
})
