// SPDX-License-Identifier: Apache-2.0
//
// The semantics of writes, on a real store: which fields the server sets and clients cannot choose, which of two writes
// wins, what a subresource may change, and how an object is deleted.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { RegistryBench } from "../testing/registry.js"
import { asObject, asString, clone, dig, type JsonObject } from "../value.js"
import type { RequestContext } from "./context.js"
import { type Kind, keyOf } from "./kind.js"
import { Registry, type Written } from "./registry.js"
import type { UpdateRequest } from "./update.js"
import type { Admission } from "./write-pipeline.js"

let bench: RegistryBench
let registry: Registry
let maps: Kind
let pods: Kind
/** What admission does to a new or changed object; each test may replace it. */
let admits: (object: JsonObject) => Promise<JsonObject> | JsonObject
let mayCreate: () => Promise<void>
const admission: Admission = {
  authorizeCreate: () => mayCreate(),
  mutate: async (_, { object }) => admits(object ?? {}),
  validate: () => Promise.resolve(),
}

beforeAll(async () => {
  bench = await RegistryBench.start()
  const { catalog } = bench.registry
  registry = new Registry(bench.store, catalog, admission, () => bench.now)
  maps = catalog.builtin("", "v1", "configmaps")
  pods = catalog.builtin("", "v1", "pods")
})
beforeEach(() => {
  admits = object => object
  mayCreate = () => Promise.resolve()
})
afterAll(() => bench.stop())

const context = (name: string, more: Partial<RequestContext> = {}): RequestContext => ({
  ...{ user: { name: "u", uid: "", groups: [], extra: {} }, namespace: "default", name, subresource: "" },
  ...{ dryRun: false, fieldManager: "t", fieldValidation: "Ignore", warn: () => undefined },
  ...{ now: () => bench.now, signal: undefined, ...more },
})

let count = 0
const fresh = (): string => `object-${count++}`

/** Creates the object and returns the response. */
const create = (object: JsonObject, more: Partial<RequestContext> = {}, kind = maps): Promise<JsonObject> =>
  registry.create(kind, kind.decode(object).object, context(asString(dig(object, "metadata", "name")), more), {})

const update = (
  name: string,
  transform: UpdateRequest["transform"],
  more: Partial<UpdateRequest> = {},
): Promise<Written> =>
  registry.update({
    ...{ kind: maps, context: context(name), transform, options: {}, create: "never", tracked: false, exact: false },
    ...more,
  })

/** Changes the given fields and keeps all others. */
const change =
  (more: JsonObject, meta: JsonObject = {}): UpdateRequest["transform"] =>
  current => ({
    ...clone(current ?? {}),
    ...more,
    metadata: { ...asObject(current?.metadata), ...meta },
  })

const rejected = async (made: Promise<unknown>): Promise<string> =>
  made.then(
    () => "passed",
    ({ code, reason, message }) => `${code} ${reason} ${message}`,
  )

const isStored = async (kind: Kind, name: string, namespace = "default"): Promise<boolean> =>
  (await registry.find(kind, namespace, name)) !== undefined

describe("a new object", () => {
  it("gets its uid and creation time from the server", async () => {
    const name = fresh()
    const claimed = {
      uid: "mine",
      creationTimestamp: "2001-01-01T00:00:00Z",
      deletionTimestamp: "2001-01-01T00:00:00Z",
    }
    const { metadata } = await create({ metadata: { name, ...claimed } })
    expect(metadata).toMatchObject({ name, namespace: "default", creationTimestamp: "2026-01-01T00:00:00Z" })
    expect(asObject(metadata).uid).toMatch(/^[0-9a-f-]{36}$/)
    expect(metadata).not.toHaveProperty("deletionTimestamp")
  })

  it("is returned as it is read, with the revision of its write", async () => {
    const name = fresh()
    const made = await create({ metadata: { name }, data: { a: "b" } })
    expect(await registry.get(maps, "default", name)).toEqual(made)
    expect(dig(made, "metadata", "resourceVersion")).toBe(`${bench.store.revision()}`)
  })

  it("is stored without its revision, which the key's entry has", async () => {
    const name = fresh()
    await create({ metadata: { name } })
    const entry = await bench.store.get(keyOf(maps.info, "default", name))
    expect(entry?.object.metadata).not.toHaveProperty("resourceVersion")
  })

  it("gets a unique name with the prefix in generateName", async () => {
    const name = async (base: string): Promise<string> =>
      asString(dig(await create({ metadata: { generateName: base } }), "metadata", "name"))
    const [one, two] = [await name("some-"), await name("some-")]
    expect([one, two]).toEqual([
      expect.stringMatching(/^some-[a-z0-9]{5}$/),
      expect.stringMatching(/^some-[a-z0-9]{5}$/),
    ])
    expect(one).not.toBe(two)
    expect((await name("x".repeat(80))).length).toBe(63)
  })

  it("records its manager as the owner of the fields it set", async () => {
    const { metadata } = await create({ metadata: { name: fresh() }, data: { a: "b" } }, { fieldManager: "me" })
    expect(asObject(metadata).managedFields).toMatchObject([{ manager: "me", operation: "Update" }])
  })

  it.each<[string, JsonObject, Partial<RequestContext>, RegExp]>([
    ["with a name in use", { name: "kube-root" }, {}, /^409 AlreadyExists configmaps "kube-root" already exists$/],
    ["without a name", {}, {}, /^422 Invalid .*name or generateName is required/],
    ["with an invalid name", { name: "No" }, {}, /^422 Invalid .*metadata.name: Invalid value: "No"/],
    ["with a resourceVersion", { name: "new" }, {}, /resourceVersion should not be set on objects to be created$/],
    ["in a missing namespace", { name: "x" }, { namespace: "away" }, /^404 NotFound namespaces "away" not found$/],
  ])("%s is rejected", async (_, metadata, more, want) => {
    if (metadata.name === "kube-root") await create({ metadata })
    const sent = metadata.name === "new" ? { ...metadata, resourceVersion: "7" } : metadata
    expect(await rejected(create({ metadata: sent }, more))).toMatch(want)
  })

  it("in a terminating namespace is rejected with the reason that clients know", async () => {
    const namespace = fresh()
    await bench.create({ plural: "namespaces" }, "", { metadata: { name: namespace } })
    await bench.remove({ plural: "namespaces" }, "", namespace)
    const made = create({ metadata: { name: "x" } }, { namespace })
    await expect(made).rejects.toMatchObject({ code: 403, details: { causes: [{ reason: "NamespaceTerminating" }] } })
  })

  it("stays in the namespace of the request, whatever a webhook changes", async () => {
    const name = fresh()
    admits = change({}, { namespace: "kube-system" })
    expect(await rejected(create({ metadata: { name } }))).toMatch(
      /^400 BadRequest the namespace of the provided object/,
    )
    expect(await isStored(maps, name, "kube-system")).toBe(false)
  })

  it("keeps the server's uid, whatever a webhook changes", async () => {
    admits = change({}, { uid: "chosen" })
    expect(dig(await create({ metadata: { name: fresh() } }), "metadata", "uid")).not.toBe("chosen")
  })

  it("of a dry run is returned without a revision and not stored", async () => {
    const name = fresh()
    const made = await create({ metadata: { name } }, { dryRun: true })
    expect(made.metadata).toMatchObject({ name, uid: expect.any(String) })
    expect(made.metadata).not.toHaveProperty("resourceVersion")
    expect(await isStored(maps, name)).toBe(false)
  })

  it("is created once if several clients create it at the same time", async () => {
    const name = fresh()
    const outcomes = await Promise.all([1, 2, 3].map(() => rejected(create({ metadata: { name } }))))
    expect(outcomes.filter(outcome => outcome === "passed")).toHaveLength(1)
    expect(outcomes.filter(outcome => outcome.startsWith("409 AlreadyExists"))).toHaveLength(2)
  })
})

describe("a changed object", () => {
  it("has a newer revision, and keeps its uid and creation time", async () => {
    const name = fresh()
    const before = await create({ metadata: { name } })
    const claimed = { creationTimestamp: "2001-01-01T00:00:00Z" }
    const { object, created } = await update(name, change({ data: { a: "b" } }, claimed))
    expect(created).toBe(false)
    expect(object).toMatchObject({ data: { a: "b" }, metadata: { uid: dig(before, "metadata", "uid") } })
    expect(dig(object, "metadata", "creationTimestamp")).toBe(dig(before, "metadata", "creationTimestamp"))
    expect(Number(dig(object, "metadata", "resourceVersion"))).toBeGreaterThan(
      Number(dig(before, "metadata", "resourceVersion")),
    )
  })

  it("without changes is not written again", async () => {
    const name = fresh()
    await create({ metadata: { name } })
    const revision = bench.store.revision()
    await update(name, change({}))
    expect(bench.store.revision()).toBe(revision)
  })

  it.each<[string, JsonObject, RegExp]>([
    ["with an outdated revision", { resourceVersion: "1" }, /^409 Conflict .* the object has been modified/],
    ["with another uid", { uid: "another" }, /^409 Conflict .*Precondition failed: UID in precondition: another/],
    ["with another name", { name: "another" }, /^422 Invalid .*metadata.name: Invalid value: "another"/],
  ])("%s is rejected", async (_, meta, want) => {
    const name = fresh()
    await create({ metadata: { name } })
    expect(await rejected(update(name, change({ data: { a: "b" } }, meta), { exact: true }))).toMatch(want)
  })

  it("has the changes of all clients that change it at once without a revision", async () => {
    const name = fresh()
    await create({ metadata: { name } })
    const add = (key: string) =>
      update(name, current => change({ data: { ...asObject(current?.data), [key]: "x" } })(current))
    await Promise.all(["a", "b", "c", "d", "e"].map(add))
    expect(await registry.get(maps, "default", name)).toMatchObject({
      data: { a: "x", b: "x", c: "x", d: "x", e: "x" },
    })
  })

  it("of a dry run is returned and not stored", async () => {
    const name = fresh()
    const before = await create({ metadata: { name } })
    const dry = { context: context(name, { dryRun: true }) }
    expect((await update(name, change({ data: { a: "b" } }), dry)).object).toMatchObject({ data: { a: "b" } })
    expect(await registry.get(maps, "default", name)).toEqual(before)
  })
})

describe("a missing object", () => {
  it("is not found", async () => {
    expect(await rejected(registry.get(maps, "default", "none"))).toBe('404 NotFound configmaps "none" not found')
    expect(await rejected(update("none", change({})))).toBe('404 NotFound configmaps "none" not found')
  })

  const anew = (name: string, meta: JsonObject = {}): Promise<Written> =>
    update(name, () => maps.decode({ metadata: { name, ...meta } }).object, { create: "allowed" })

  it("is created by an update, if the user may create it", async () => {
    const name = fresh()
    expect(await anew(name, { resourceVersion: "7" })).toMatchObject({ created: true, object: { metadata: { name } } })
    mayCreate = () => Promise.reject(new Error("only update"))
    await expect(anew(fresh())).rejects.toThrow("only update")
  })

  it("is not created with a uid", async () => {
    expect(await rejected(anew(fresh(), { uid: "once" }))).toMatch(/^409 Conflict .*no existing object was found/)
  })
})

describe("the status of an object", () => {
  const status = (name: string): Partial<UpdateRequest> => ({
    kind: pods,
    context: context(name, { subresource: "status" }),
  })
  const pod = async (): Promise<string> => {
    const name = fresh()
    await create({ metadata: { name }, spec: { containers: [{ name: "c", image: "i" }] } }, {}, pods)
    return name
  }

  it("is the only field that its endpoint changes", async () => {
    const name = await pod()
    const sent = change({ spec: { containers: [] }, status: { phase: "Running" } })
    const { object } = await update(name, sent, status(name))
    expect(object).toMatchObject({ status: { phase: "Running" }, spec: { containers: [{ image: "i" }] } })
  })

  it("is not changed by an update of the object", async () => {
    const name = await pod()
    const { object } = await update(name, change({ status: { phase: "Failed" } }), { kind: pods })
    expect(object).toMatchObject({ status: { phase: "Pending" } })
  })

  it("endpoint does not change owners", async () => {
    const name = await pod()
    const owner = { apiVersion: "v1", kind: "Pod", name: "x", uid: "1" }
    const { object } = await update(name, change({ status: {} }, { ownerReferences: [owner] }), status(name))
    expect(object.metadata).not.toHaveProperty("ownerReferences")
  })
})

describe("an object that is being deleted", () => {
  const held = async (): Promise<string> => {
    const name = fresh()
    await create({ metadata: { name, finalizers: ["example.com/hold"] } })
    await bench.remove({ plural: "configmaps" }, "default", name)
    return name
  }

  it("remains while a finalizer holds it, and its deletion cannot be undone", async () => {
    const name = await held()
    const { object } = await update(name, current => {
      const { deletionTimestamp: _, ...meta } = asObject(current?.metadata)
      return { ...clone(current ?? {}), metadata: meta }
    })
    expect(object.metadata).toHaveProperty("deletionTimestamp")
  })

  it("accepts no new finalizers", async () => {
    const name = await held()
    const more = change({}, { finalizers: ["example.com/hold", "example.com/more"] })
    expect(await rejected(update(name, more))).toMatch(/no new finalizers can be added if the object is being deleted/)
  })

  it("is removed with its last finalizer", async () => {
    const name = await held()
    await update(name, change({}, { finalizers: [] }))
    expect(await isStored(maps, name)).toBe(false)
  })

  it("reports that to a client that creates an object of the same name", async () => {
    const name = await held()
    expect(await rejected(create({ metadata: { name } }))).toMatch(/^409 AlreadyExists object is being deleted: /)
  })
})

it("is encoded once per version, for all readers", async () => {
  const name = fresh()
  await create({ metadata: { name } })
  const entry = await registry.find(maps, "default", name)
  if (entry === undefined) throw new Error("it was created")
  expect(registry.present(maps, entry)).toBe(registry.present(maps, entry))
})
