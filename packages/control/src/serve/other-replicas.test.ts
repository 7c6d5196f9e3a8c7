// SPDX-License-Identifier: Apache-2.0
import { meshConfig } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { isServedByAnother } from "./other-replicas.js"

const SERVICE = { service: "merlond", port: 443 }
const OURS = { "app.kubernetes.io/name": "merlond" }

const pod = (name: string, fields: Partial<KubernetesObject["metadata"]> = {}, ready = "True"): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "merlon-system", labels: OURS, ...fields },
  status: { conditions: [{ type: "Ready", status: ready }] },
})

const inCluster = (...pods: readonly KubernetesObject[]): boolean =>
  isServedByAnother({
    options: { mesh: meshConfig(), replica: "one", webhooks: SERVICE, hasCluster: false },
    pods: { items: new Map(pods.map(one => [`${one.metadata.namespace}/${one.metadata.name}`, one])) },
    isLeader: () => true,
  })

describe("a replica behind a Service that stops", () => {
  it("is covered only by another ready replica", () => {
    expect(inCluster(pod("one"), pod("two"))).toBe(true)
    expect(inCluster(pod("one"))).toBe(false)
    expect(inCluster()).toBe(false)
    expect(inCluster(pod("one"), pod("two", {}, "False"))).toBe(false)
    expect(inCluster(pod("one"), pod("two", { deletionTimestamp: "2026-01-01T00:00:00Z" }))).toBe(false)
    expect(inCluster(pod("one"), pod("two", { namespace: "other" }))).toBe(false)
    expect(inCluster(pod("one"), pod("two", { labels: { "app.kubernetes.io/name": "other" } }))).toBe(false)
  })
})

describe("a replica that is registered by its address", () => {
  const outside = (isLeader: boolean, hasCluster = false): boolean =>
    isServedByAnother({
      options: { mesh: meshConfig(), replica: "one", webhooks: { url: String }, hasCluster },
      pods: { items: new Map() },
      isLeader: () => isLeader,
    })

  it("is covered if another replica leads, or if the cluster stops with it", () => {
    expect(outside(false)).toBe(true)
    expect(outside(true)).toBe(false)
    expect(outside(true, true)).toBe(true)
  })
})
