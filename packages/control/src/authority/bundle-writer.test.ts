// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { ApiError } from "../kubernetes/client.js"
import { CLUSTER_ROLES, CONFIG_MAPS, NAMESPACES } from "../kubernetes/resource-type.js"
import { settle } from "../observe/testing/manual-clock.js"
import { NAMES, Stage } from "./testing/authority-stage.js"

const NAME = NAMES.bundleConfigMap

async function started(stage: Stage) {
  const authority = await stage.authority()
  const namespaces = stage.cluster.reflect(NAMESPACES)
  const bundles = stage.cluster.reflect(CONFIG_MAPS, ({ metadata }) => metadata.name === NAME)
  stage.cluster.writes.length = 0
  authority.distributeTo({ namespaces, bundles })
  await stage.clock.advance(0)
  return authority
}

const bundleIn = (stage: Stage, namespace: string) => stage.cluster.objects.get(`configmaps/${namespace}/${NAME}`)?.data
const verbs = (stage: Stage) => stage.cluster.writes.map(({ verb, key }) => `${verb} ${key.split("/")[1]}`)

describe("the trust bundle", () => {
  it("is in every namespace, including new ones", async () => {
    const stage = new Stage()
    for (let index = 0; index < 30; index++) stage.namespace(`ns-${index}`)
    const authority = await started(stage)
    stage.namespace("later")
    await stage.clock.advance(100)
    for (const namespace of ["ns-0", "ns-29", "later"]) {
      expect(bundleIn(stage, namespace)).toEqual({ "root-cert.pem": authority.current.bundle })
    }
    expect(stage.cluster.writes).toHaveLength(31)
    await stage.clock.advance(120_000)
    expect(stage.cluster.writes).toHaveLength(31)
  })

  it("is restored after an edit or deletion, without touching other keys", async () => {
    const stage = new Stage()
    stage.namespace("foo")
    const authority = await started(stage)
    stage.configMap(NAME, { "root-cert.pem": "mine", other: "kept" }, "foo")
    await stage.clock.advance(200)
    expect(bundleIn(stage, "foo")).toEqual({ "root-cert.pem": authority.current.bundle, other: "kept" })
    await stage.cluster.delete(CONFIG_MAPS, NAME, "foo")
    await stage.clock.advance(200)
    expect(bundleIn(stage, "foo")).toEqual({ "root-cert.pem": authority.current.bundle })
  })

  it("is owned by the control plane's role, also if an earlier installation wrote it", async () => {
    const stage = new Stage()
    stage.namespace("foo")
    await stage.cluster.create(CLUSTER_ROLES, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "merlond", uid: "role-1" },
    })
    const authority = await started(stage)
    const owners = () => stage.cluster.objects.get(`configmaps/foo/${NAME}`)?.metadata.ownerReferences
    expect(owners()).toEqual([expect.objectContaining({ kind: "ClusterRole", name: "merlond", uid: "role-1" })])
    stage.configMap(NAME, { "root-cert.pem": authority.current.bundle }, "foo")
    await stage.clock.advance(200)
    expect(owners()).toEqual([expect.objectContaining({ uid: "role-1" })])
    // Without the role the control plane is being uninstalled: it writes nothing that would be left behind.
    await stage.cluster.delete(CLUSTER_ROLES, "merlond")
    await stage.cluster.delete(CONFIG_MAPS, NAME, "foo")
    await stage.clock.advance(60_000)
    expect(bundleIn(stage, "foo")).toBeUndefined()
  })

  it("is written only by the leader", async () => {
    const stage = new Stage()
    stage.leading = false
    stage.namespace("foo")
    await started(stage)
    expect(stage.cluster.writes).toEqual([])
    stage.leading = true
    await stage.clock.advance(30_000)
    expect(verbs(stage)).toEqual(["create foo"])
  })

  it("is not written to a namespace that is being deleted", async () => {
    const stage = new Stage()
    stage.namespace("foo", "2026-11-15T00:00:00Z")
    await started(stage)
    expect(stage.cluster.writes).toEqual([])
  })

  it("is written once while the copy is out of date", async () => {
    const stage = new Stage()
    stage.namespace("foo")
    await settle()
    stage.cluster.hold()
    await started(stage)
    await stage.clock.advance(60_000)
    expect(verbs(stage)).toEqual(["create foo"])
    stage.cluster.release()
    await stage.clock.advance(60_000)
    expect(verbs(stage)).toEqual(["create foo"])
  })

  it("takes over a ConfigMap that the copy does not show yet", async () => {
    const stage = new Stage()
    stage.namespace("foo")
    await settle()
    stage.cluster.hold()
    const before = stage.cluster.objects
    const authority = await stage.authority()
    const bundles = stage.cluster.reflect(CONFIG_MAPS)
    stage.configMap(NAME, { "root-cert.pem": "old" }, "foo")
    stage.cluster.writes.length = 0
    authority.distributeTo({ namespaces: stage.cluster.reflect(NAMESPACES), bundles })
    await stage.clock.advance(0)
    expect(verbs(stage)).toEqual(["create foo", "patch foo"])
    expect(before.get(`configmaps/foo/${NAME}`)?.data).toEqual({ "root-cert.pem": authority.current.bundle })
  })

  it("reaches the other namespaces if one rejects it, which is retried", async () => {
    const stage = new Stage()
    for (const name of ["a", "b", "c"]) stage.namespace(name)
    let rejecting = true
    stage.cluster.beforeWrite = ({ key }) => {
      if (rejecting && key.startsWith("configmaps/b/")) throw new ApiError(403, "Forbidden", "not in `b`")
    }
    await started(stage)
    expect([bundleIn(stage, "a"), bundleIn(stage, "c")]).not.toContain(undefined)
    expect(bundleIn(stage, "b")).toBeUndefined()
    rejecting = false
    await stage.clock.advance(5_000)
    expect(bundleIn(stage, "b")).toBeDefined()
  })
})
