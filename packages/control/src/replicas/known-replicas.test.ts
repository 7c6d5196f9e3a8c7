// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { expect, it } from "vitest"
import type { Change } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { KnownReplicas } from "./known-replicas.js"
import { labelOf } from "./replica-names.js"

const lease = (replica: string, address: string, holder = replica): KubernetesObject => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: {
    name: `merlon-replica-${replica}`,
    namespace: "merlon-system",
    labels: { "merlon.dev/replica": replica },
    annotations: { "merlon.dev/replica-address": address },
  },
  spec: { holderIdentity: holder },
})

function stage(...leases: readonly KubernetesObject[]) {
  const items = new Map(leases.map(one => [`merlon-system/${one.metadata.name}`, one]))
  let notify: (change: Change<KubernetesObject>) => void = () => undefined
  let now = 0
  const known = new KnownReplicas({
    leases: {
      items,
      synced: Promise.resolve(),
      onChange: listener => {
        notify = listener
        return () => undefined
      },
    },
    names: meshNames(),
    replica: "me",
    isOver: holder => holder.startsWith("over"),
    time: { monotonic: () => now },
  })
  const put = (key: string, object: KubernetesObject | undefined): void => {
    if (object === undefined) items.delete(key)
    else items.set(key, object)
    notify({ key, object, previous: undefined })
  }
  return { known, put, pass: (milliseconds: number) => (now += milliseconds) }
}

it.each([
  ["merlond-7d9f-x2x", "merlond-7d9f-x2x"],
  ["DESKTOP-1.Lan-42", "desktop-1.lan-42"],
  ["my_machine (2)-7", "my-machine-2-7"],
  ["-a.-b-.c..d.", "a.b.c.d"],
  ["127.0.0.1", "127.0.0.1"],
  [`${"x".repeat(80)}-9`, `${"x".repeat(61)}-9`],
  ["_", "unnamed"],
])("turns the replica name `%s` into the label `%s`", (replica, label) => {
  expect(labelOf(replica)).toBe(label)
  expect(label).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
})

it("finds the others by their Leases, without itself and Leases without an address", () => {
  const { known } = stage(
    lease("me", "10.0.0.1:1"),
    lease("b", "10.0.0.2:15013"),
    lease("c", "[fd00::1]:15013"),
    ...["", "10.0.0.3", "10.0.0.3:0", "10.0.0.3:70000", "a b:1", "http://x:1", "[x]:1"].map((address, index) =>
      lease(`no-${index}`, address),
    ),
    lease("gone", "10.0.0.4:1", "over-1"),
  )
  expect(known.others).toEqual([
    { name: "b", host: "10.0.0.2", port: 15_013 },
    { name: "c", host: "fd00::1", port: 15_013 },
  ])
})

it("notifies when a replica is added, moved or removed, not when it renews", () => {
  const { known, put } = stage()
  const seen: string[] = []
  known.onChange(() => seen.push(known.others.map(({ host }) => host).join()))
  const key = "merlon-system/merlon-replica-b"
  put(key, lease("b", "10.0.0.2:1"))
  put(key, lease("b", "10.0.0.2:1"))
  put(key, lease("b", "10.0.0.3:1"))
  put(key, undefined)
  expect(seen).toEqual(["10.0.0.2", "10.0.0.3", ""])
})

it("abandons Leases that are not renewed for half a minute, but never its own", () => {
  const { known, put, pass } = stage(lease("me", "10.0.0.1:1"), lease("b", "10.0.0.2:1"), lease("c", "10.0.0.3:1"))
  pass(20_000)
  put("merlon-system/merlon-replica-c", lease("c", "10.0.0.3:1"))
  expect(known.abandoned).toEqual([])
  pass(10_000)
  expect(known.abandoned).toEqual(["merlon-replica-b"])
  // It is still queried until its Lease is deleted: it may only be cut off from the cluster.
  expect(known.others.map(({ name }) => name)).toEqual(["b", "c"])
})

it("abandons at once a replica that is known to have stopped", () => {
  const { known } = stage(lease("b", "10.0.0.2:1", "over-1"))
  expect(known.abandoned).toEqual(["merlon-replica-b"])
})
