// SPDX-License-Identifier: Apache-2.0
import type { MeshService } from "@merlon/policy/resources"
import { expect, test } from "vitest"
import type { MeshServiceEntry } from "../registry/mesh-directory.js"
import { SCOPE } from "../routes/testing/mesh.js"
import { governedByOthers, meshServiceReach } from "./mesh-service-reach.js"
import { document, workload } from "./testing/documents.js"

const service = (name: string): MeshServiceEntry => ({
  namespace: "foo",
  name,
  host: `${name}.foo.svc.cluster.local`,
  addresses: [],
  selector: { app: name },
  ports: [],
})
const pods = [
  workload("foo/web-1", { app: "web", version: "v1" }),
  workload("foo/web-2", { app: "web", version: "v2" }),
  workload("foo/api-1", { app: "api" }),
]
const directory = {
  services: new Map(["web", "api", "empty"].map(name => [service(name).host, service(name)])),
  behind: ({ name }: MeshServiceEntry) => pods.filter(({ labels }) => labels.app === name),
}
const split = (...destinations: object[]) => ({ hosts: ["web"], routes: [{ service: destinations }] })

test.each<[string, object, string[], string[]]>([
  ["a single host", { hosts: ["web"] }, ["foo/web-1", "foo/web-2"], []],
  ["every spelling", { hosts: ["web.foo", "api.foo.svc"] }, ["foo/web-1", "foo/web-2", "foo/api-1"], []],
  ["a subset", split({ host: "web", name: "v1", labels: { version: "v1" } }), ["foo/web-1"], []],
  ["a subset without workloads", split({ host: "web", name: "v3", labels: { version: "v3" } }), [], ["`v3`"]],
  ["a Service by name", split({ host: "web", name: "api" }), ["foo/api-1"], []],
  ["no such Service", split({ host: "wbe" }), [], ["`wbe`"]],
  ["a Service without endpoints", { hosts: ["empty"] }, [], ["`empty`"]],
])("finds the workloads of %s", (_, spec, workloads, missing) => {
  const reach = meshServiceReach(document("MeshService", "m", spec) as MeshService, directory, "cluster.local")
  expect([...reach.workloads.keys()]).toEqual(workloads)
  expect(reach.missing).toEqual(missing)
})

test("a host belongs to the oldest MeshService that names it, in any spelling", () => {
  const aged = (name: string, hosts: string[], day: number) =>
    document("MeshService", name, { hosts }, { creationTimestamp: `2026-01-0${day}T00:00:00Z` }) as MeshService
  const [old, middle, young] = [
    aged("old", ["web"], 1),
    aged("middle", ["api"], 2),
    aged("young", ["web.foo", "api", "db"], 3),
  ]
  const all = [young, middle, old]
  expect(governedByOthers(young, all, SCOPE)).toEqual([
    { host: "web.foo", by: "foo/old" },
    { host: "api", by: "foo/middle" },
  ])
  expect(governedByOthers(old, all, SCOPE)).toEqual([])
})

test("a guest competes only with MeshServices that apply to its own callers", () => {
  const of = (namespace: string, day: number) =>
    document("MeshService", "m", { hosts: ["web.foo"] }, { namespace, creationTimestamp: `2026-01-0${day}T00:00:00Z` })
  const [tenant, other, root, owner] = ["evil", "other", "merlon-system", "foo"].map((namespace, day) =>
    of(namespace, day + 1),
  ) as [MeshService, MeshService, MeshService, MeshService] // the array has four elements
  expect(governedByOthers(tenant, [tenant, other], SCOPE)).toEqual([])
  expect(governedByOthers(tenant, [tenant, other, root], SCOPE)).toEqual([{ host: "web.foo", by: "merlon-system/m" }])
  expect(governedByOthers(root, [tenant, other, root], SCOPE)).toEqual([])
  expect(governedByOthers(root, [tenant, owner, root], SCOPE)).toEqual([{ host: "web.foo", by: "foo/m" }])
})
