// SPDX-License-Identifier: Apache-2.0
import type { Kind } from "@merlon/policy/resources"
import { describe, expect, it } from "vitest"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { ManualReflected } from "../registry/testing/objects.js"
import { PeerModeSource } from "../routes/peer-mode-source.js"
import { workload } from "../routes/testing/mesh.js"
import { MESH, policyOf } from "../snapshot/testing/views-stage.js"
import { documentsInForce } from "./documents-in-force.js"
import { feedPolicies } from "./policies-feed.js"
import { StoredPolicies } from "./stored-policies.js"
import { changesMeaning } from "./stored-policy.js"

const AP = "AuthorizationPolicy"
const PA = "PeerAuthentication"
const MS = "MeshService"

const meshService = (hosts: unknown, metadata: object = {}, more: object = {}): KubernetesObject => ({
  apiVersion: `${MESH.names.networkingGroup}/${MESH.names.version}`,
  kind: MS,
  metadata: { name: "web", namespace: "app", uid: "1", generation: 1, ...metadata },
  spec: { hosts },
  ...more,
})

function stage() {
  const invalid: string[] = []
  const policies = new StoredPolicies({
    names: MESH.names,
    onInvalid: ({ key }, kept) => invalid.push(`${key} ${kept ? "kept" : "stands in"}`),
  })
  const received: string[] = []
  policies.onChange(change => received.push(changesMeaning(change) ? "meaning" : "other"))
  const hosts: (readonly string[] | undefined)[] = []
  const services = documentsInForce(policies, MS)
  services.onChange(({ object }) => hosts.push(object?.spec.hosts))
  return { policies, invalid, received, services, hosts }
}

describe("a stored document", () => {
  it("is in effect as written if it is readable", () => {
    const { policies, invalid, services, hosts } = stage()
    policies.set(MS, meshService(["web"]))
    expect(policies.items.get("MeshService/app/web")?.inForce?.spec).toEqual({ hosts: ["web"] })
    expect([...services.items.keys()]).toEqual(["app/web"])
    policies.delete(MS, "app", "web")
    expect(policies.items.size).toBe(0)
    expect(hosts).toEqual([["web"], undefined])
    expect(invalid).toEqual([])
  })

  it("stays in effect in its last good version if it becomes unreadable", () => {
    const { policies, invalid, hosts } = stage()
    policies.set(MS, meshService(["web"]))
    policies.set(MS, meshService("web", { generation: 2 }))
    const { written, inForce, errors } = policies.items.get("MeshService/app/web") ?? {}
    expect(written).toBeUndefined()
    expect(inForce?.spec).toEqual({ hosts: ["web"] })
    expect(errors).not.toEqual([])
    expect(hosts).toEqual([["web"]])
    expect(invalid).toEqual(["MeshService/app/web kept"])
  })

  it("is not a version of an earlier object of the same name", () => {
    const { policies, hosts } = stage()
    policies.set(MS, meshService(["web"]))
    policies.set(MS, meshService("web", { uid: "2" }))
    expect(policies.items.get("MeshService/app/web")?.inForce).toBeUndefined()
    expect(hosts).toEqual([["web"], undefined])
  })

  it("is read once per version, also when its status, labels or managed fields change", () => {
    const { policies, received } = stage()
    const object = policyOf(AP, "foo/p", {})
    policies.set(AP, object)
    const { inForce, written } = policies.items.get("AuthorizationPolicy/foo/p") ?? {}
    const labelled = { ...object, metadata: { ...object.metadata, labels: { a: "b" }, managedFields: [] } }
    policies.set(AP, labelled)
    policies.set(AP, { ...labelled, status: { conditions: [] } })
    const after = policies.items.get("AuthorizationPolicy/foo/p")
    expect(after?.inForce).toBe(inForce)
    expect(after?.written).toBe(written)
    expect(after?.object.status).toEqual({ conditions: [] })
    expect(received).toEqual(["meaning", "other", "other"])
  })

  it("is read again if only the dry-run annotation changed", () => {
    const { policies, received } = stage()
    policies.set(AP, policyOf(AP, "foo/p", {}))
    policies.set(AP, policyOf(AP, "foo/p", {}, { annotations: { [MESH.names.dryRunAnnotation]: "true" } }))
    expect(received).toEqual(["meaning", "meaning"])
  })
})

it("makes an unreadable PeerAuthentication STRICT for proxies and callers", () => {
  const { policies } = stage()
  policies.set(PA, policyOf(PA, "app/p", { mtls: { mode: "STRIKT" } }))
  const modes = new PeerModeSource(documentsInForce(policies, PA), MESH)
  expect(policies.items.get("PeerAuthentication/app/p")?.inForce?.spec).toEqual({ mtls: { mode: "STRICT" } })
  expect(modes.modeOf(workload("a"), 8080)).toBe("STRICT")
  policies.set(PA, policyOf(PA, "app/p", { mtls: { mode: "PERMISSIVE" } }, { generation: 2 }))
  expect(modes.modeOf(workload("a"), 8080)).toBe("PERMISSIVE")
})

it("has what was stored before, follows changes, and reports when it is in sync", async () => {
  const { policies, received } = stage()
  const none = () => new ManualReflected<KubernetesObject>()
  const late = new ManualReflected<KubernetesObject>([policyOf(AP, "foo/early", {})], { synced: false })
  const feed = feedPolicies(
    policies,
    { RequestAuthentication: none(), [AP]: late, [PA]: none(), PolicyInvariant: none(), [MS]: none() },
    key => {
      const [kind, namespace = "", name = ""] = key.split("/")
      policies.delete(kind as Kind, namespace, name) // this test uses no other kinds
    },
  )
  let synced = false
  void feed.synced.then(() => {
    synced = true
  })
  await Promise.resolve()
  expect(synced).toBe(false)
  late.set(policyOf(AP, "foo/late", {}))
  late.sync()
  await feed.synced
  expect([...policies.items.keys()]).toEqual(["AuthorizationPolicy/foo/early", "AuthorizationPolicy/foo/late"])
  late.delete("foo/early")
  expect([...policies.items.keys()]).toEqual(["AuthorizationPolicy/foo/late"])
  feed.stop()
  late.delete("foo/late")
  expect(received).toHaveLength(3)
})
