// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import type { KubernetesObject, ResourceType } from "../kubernetes/resource-type.js"
import { settle as idle, ManualClock } from "../observe/testing/manual-clock.js"
import { podOf } from "../registry/testing/objects.js"
import { MESH, policyOf, viewsStage } from "../snapshot/testing/views-stage.js"
import { DeletedPolicies } from "./deleted-policies.js"

const AP = "AuthorizationPolicy"
const KEY = "AuthorizationPolicy/foo/deny"
const ON_WIRE = "policy/AuthorizationPolicy/foo/deny"
const GOING = { deletionTimestamp: "2026-01-01T00:00:00Z" }

/** The cluster's API, which can be unreachable. */
class Api {
  readonly objects = new Map<string, KubernetesObject>()
  away = false
  /** Kinds that we may not read. */
  readonly forbidden = new Set<string>()

  set(kind: string, name: string, metadata: object = {}): void {
    this.objects.set(`${kind}/${name}`, { apiVersion: "v1", kind, metadata: { name, uid: `uid-${name}`, ...metadata } })
  }

  get<T extends KubernetesObject>({ kind }: ResourceType, name: string): Promise<T | undefined> {
    if (this.away) return Promise.reject(new ApiError(0, "", "no answer"))
    if (this.forbidden.has(kind)) return Promise.reject(new ApiError(403, "Forbidden", "not yours"))
    return Promise.resolve(this.objects.get(`${kind}/${name}`) as T | undefined) // of the requested type
  }
}

function stage() {
  const views = viewsStage()
  const api = new Api()
  const clock = new ManualClock()
  const warnings: string[] = []
  const deletedPolicies = new DeletedPolicies({
    policies: views.policies,
    client: api,
    directory: views.registry,
    names: MESH.names,
    warn: message => warnings.push(message),
    clock,
  })
  const remove = async (): Promise<void> => {
    deletedPolicies.deleted(KEY)
    await idle()
    views.settle()
  }
  const enforces = (workload: string): boolean => views.namesOf(workload).includes(ON_WIRE)
  api.set("Namespace", "foo")
  views.registry.setPod(podOf("foo/a"))
  views.registry.setPod(podOf("foo/b"))
  return { ...views, api, clock, warnings, deletedPolicies, remove, enforces }
}

let s: ReturnType<typeof stage>
beforeEach(() => {
  s = stage()
})
const store = (metadata: object = {}) => {
  s.policies.set(AP, policyOf(AP, "foo/deny", { action: "DENY", rules: [{}] }, metadata))
  s.settle()
}
const ownedBy = (apiVersion: string, kind: string, name: string) => ({
  ownerReferences: [{ apiVersion, kind, name, uid: `uid-${name}` }],
})

describe("a policy that a user deletes", () => {
  it("has no effect from then on", async () => {
    store()
    await s.remove()
    expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([false, false])
    expect(s.policies.items.size).toBe(0)
  })

  it("has no effect on a Pod that is being deleted either, if namespace and owners stay", async () => {
    s.registry.setPod(podOf("foo/a", { metadata: GOING }))
    store(ownedBy("v1", "Pod", "b"))
    s.api.set("Pod", "b")
    await s.remove()
    expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([false, false])
  })

  it("stays in effect only until the API shows why it was deleted", async () => {
    store()
    s.api.away = true
    await s.remove()
    expect(s.enforces("foo/a")).toBe(true)
    expect(s.warnings).toHaveLength(1)
    s.api.away = false
    await s.clock.advance(200)
    s.settle()
    expect(s.enforces("foo/a")).toBe(false)
  })

  it("is replaced by a new policy of the same name", async () => {
    store()
    s.deletedPolicies.deleted(KEY)
    store({ uid: "another" })
    await idle()
    expect(s.policies.items.get(KEY)?.object.metadata.uid).toBe("another")
    expect(s.policies.items.get(KEY)?.deleted).toBeUndefined()
    expect(s.enforces("foo/a")).toBe(true)
  })

  it("is not looked up if it selects no workload", async () => {
    s.registry.deletePod("foo", "a")
    s.registry.deletePod("foo", "b")
    store()
    s.api.away = true
    await s.remove()
    expect(s.policies.items.size).toBe(0)
    expect(s.warnings).toEqual([])
  })
})

describe("a policy that is deleted with its namespace", () => {
  it.each<[string, () => void]>([
    ["is being deleted", () => s.api.set("Namespace", "foo", GOING)],
    ["is deleted already", () => s.api.objects.delete("Namespace/foo")],
  ])("stays in effect until the last workload is gone, if the namespace %s", async (_, go) => {
    store()
    go()
    await s.remove()
    expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([true, true])
    s.registry.setPod(podOf("foo/a", { metadata: GOING }))
    s.registry.deletePod("foo", "b")
    s.settle()
    expect(s.enforces("foo/a")).toBe(true)
    s.registry.deletePod("foo", "a")
    expect(s.policies.items.size).toBe(0)
  })

  it("does not select a new workload, as in a new namespace of that name", async () => {
    store()
    s.api.set("Namespace", "foo", GOING)
    await s.remove()
    s.registry.setPod(podOf("foo/new"))
    s.settle()
    expect(s.enforces("foo/new")).toBe(false)
    expect(s.enforces("foo/a")).toBe(true)
  })

  it("is in every view during the deletion", async () => {
    store()
    s.api.set("Namespace", "foo", GOING)
    const shown: boolean[] = []
    s.views.onChange(() => shown.push(s.enforces("foo/a")))
    await s.remove()
    expect(shown).not.toContain(false)
  })
})

describe("a policy that is deleted with its owner", () => {
  it.each<[string, () => void]>([
    ["is deleted", () => s.api.objects.delete("Pod/a")],
    ["is being deleted", () => s.api.set("Pod", "a", GOING)],
    ["has been replaced by another", () => s.api.set("Pod", "a", { uid: "another" })],
  ])("stays in effect only for the Pod that owned it, if that %s", async (_, go) => {
    store(ownedBy("v1", "Pod", "a"))
    s.registry.setPod(podOf("foo/a", { metadata: { uid: "uid-a" } }))
    go()
    await s.remove()
    expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([true, false])
    s.registry.deletePod("foo", "a")
    expect(s.policies.items.size).toBe(0)
  })

  it.each([
    ["a StatefulSet", "apps/v1", "StatefulSet", "db", {}],
    ["a Deployment, through its ReplicaSet", "apps/v1", "Deployment", "web", { "pod-template-hash": "6f7" }],
  ])("stays in effect for the Pods of %s", async (_, apiVersion, kind, name, labels) => {
    const direct = kind === "Deployment" ? ownedBy("apps/v1", "ReplicaSet", "web-6f7") : ownedBy(apiVersion, kind, name)
    s.registry.setPod(podOf("foo/a", { labels, metadata: direct }))
    store(ownedBy(apiVersion, kind, name))
    await s.remove()
    expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([true, false])
  })

  it("has no effect any more if the owner stays, whatever its kind", async () => {
    store({
      ownerReferences: [
        ...ownedBy("v1", "Pod", "b").ownerReferences,
        ...ownedBy("example.com/v1", "Release", "r").ownerReferences,
      ],
    })
    s.api.set("Pod", "b")
    s.api.set("Release", "r")
    await s.remove()
    expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([false, false])
  })

  it("stays in effect for the Pods of a custom resource that is being deleted", async () => {
    s.registry.setPod(podOf("foo/a", { metadata: ownedBy("example.com/v1", "Release", "r") }))
    store(ownedBy("example.com/v1", "Release", "r"))
    s.api.set("Release", "r", GOING)
    await s.remove()
    expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([true, false])
  })

  describe("that we may not read", () => {
    const through = ownedBy("apps/v1", "ReplicaSet", "web-6f7")

    beforeEach(() => {
      s.api.forbidden.add("Release")
      s.api.set("ReplicaSet", "web-6f7")
      s.api.set("Deployment", "web")
      s.registry.setPod(podOf("foo/a", { labels: { "pod-template-hash": "6f7" }, metadata: through }))
      store(ownedBy("example.com/v1", "Release", "r"))
    })

    it("stays in effect for the Pods of a Deployment that is deleted a moment later", async () => {
      await s.remove()
      expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([true, true])
      s.api.set("Deployment", "web", GOING)
      await s.clock.advance(30_000)
      s.settle()
      expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([true, false])
      expect(s.warnings[0]).toContain("`Release` `r`, which owned it, cannot be read")
    })

    it("has no effect any more if nothing else is deleted for a minute", async () => {
      await s.remove()
      await s.clock.advance(80_000)
      s.settle()
      expect([s.enforces("foo/a"), s.enforces("foo/b")]).toEqual([false, false])
    })
  })
})

it("creates no view of a namespace that is being deleted at startup", () => {
  const { registry, views, settle } = viewsStage({ begin: false })
  registry.setPod(podOf("foo/a"))
  registry.setPod(podOf("bar/b"))
  views.begin(namespace => namespace === "foo")
  settle()
  registry.setPod(podOf("foo/a", { metadata: GOING, labels: { other: "x" } }))
  settle()
  expect(views.get("foo/a")).toBeUndefined()
  expect(views.get("bar/b")).toBeDefined()
})
