// SPDX-License-Identifier: Apache-2.0
// A tenant's MeshService cannot affect other tenants' calls.

import type { MeshService } from "@merlon/policy/resources"
import { clusterName, decodeHostRoutes, HOST_ROUTES, type HostRoutesSpec, loadRouteEncoders } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { ManualScheduler, ManualTrust } from "../snapshot/testing/manual-sources.js"
import { guestHosts, namespaceOf } from "./host-governance.js"
import { PeerModeSource } from "./peer-mode-source.js"
import { MeshRoutes } from "./route-resources.js"
import { MemoryDirectory, MemoryDocuments } from "./testing/memory-directory.js"
import { MESH, meshService, SCOPE, service, workload } from "./testing/mesh.js"

const encoders = await loadRouteEncoders()
const WEB = "web.app.svc.cluster.local"
const SINK = "sink.evil.svc.cluster.local"
const ROOT = MESH.names.rootNamespace
const to = (...destinations: readonly object[]) => [{ service: destinations }]
const plain = { trafficPolicy: { tls: { mode: "DISABLE" } } }
const mutual = { trafficPolicy: { tls: { mode: "DUBBO_MUTUAL" } } }
const ofEvil = (spec: object, created = "2020-01-01T00:00:00Z") =>
  meshService("m", spec, { namespace: "evil", created })

function world(...documents: readonly MeshService[]) {
  const directory = new MemoryDirectory()
  directory.setService(service("web"))
  directory.setService(service("sink", { namespace: "evil" }))
  directory.setService(service("front", { namespace: "shop" }))
  directory.setWorkload("app/web", workload("web", { labels: { app: "web", version: "v1" } }))
  const meshServices = new MemoryDocuments<MeshService>()
  for (const document of documents) meshServices.set(document)
  const routes = new MeshRoutes({
    directory,
    meshServices,
    modes: new PeerModeSource(new MemoryDocuments(), MESH),
    trust: new ManualTrust(),
    encoders,
    mesh: MESH,
    scheduler: new ManualScheduler(),
  })
  const ask = (namespace: string, authority = `${WEB}:80`): HostRoutesSpec => {
    const caller = { trustDomain: "cluster.local", namespace, serviceAccount: "x", proof: "token" } as const
    const node = { id: `${namespace}/x`, metadata: {}, peerAddress: "10.0.0.9" }
    const watch = routes.watch({ caller, node }, HOST_ROUTES, new Set([authority]), () => undefined)
    const value = watch.snapshot().resources.get(authority)?.value
    if (value === undefined) throw new Error(`no routes of ${authority}`)
    return decodeHostRoutes(value)
  }
  const hostsSeenBy = (namespace: string, authority?: string) =>
    ask(namespace, authority).clusters.map(({ host }) => host)
  const modesSeenBy = (namespace: string, authority?: string) =>
    ask(namespace, authority).clusters.map(({ tlsMode }) => tlsMode)
  return { meshServices, hostsSeenBy, modesSeenBy }
}

describe("a tenant's MeshService for another namespace's host", () => {
  const redirect = ofEvil({ hosts: ["web.app"], routes: to({ host: "sink" }) })

  it("does not redirect other namespaces' calls, however old it is", () => {
    const { hostsSeenBy } = world(redirect)
    for (const caller of ["app", "shop", ROOT]) expect(hostsSeenBy(caller)).toEqual([WEB])
  })

  it("routes its own callers, unless a policy governs the host", () => {
    const { hostsSeenBy, meshServices } = world(redirect)
    expect(hostsSeenBy("evil")).toEqual([SINK])
    meshServices.set(meshService("web", { hosts: ["web"] }, { created: "2026-01-01T00:00:00Z" }))
    expect(hostsSeenBy("evil")).toEqual([WEB])
  })

  it.each([
    ["of the document", ofEvil({ hosts: ["web.app"], ...plain })],
    ["of a route to it", ofEvil({ hosts: ["mine"], routes: to({ host: "web.app", ...plain }) })],
    [
      "of a route to it by the name of a Service",
      ofEvil({ hosts: ["mine"], routes: to({ host: "x", name: "web.app", ...plain }) }),
    ],
    [
      "of a route from an external name",
      ofEvil({ hosts: ["pay.example.com"], routes: to({ host: "web.app", ...plain }) }),
    ],
  ])("does not remove encryption from others' calls by the mode %s", (_, document) => {
    const { modesSeenBy } = world(document)
    for (const caller of ["app", "shop", ROOT]) expect(modesSeenBy(caller)).toEqual([undefined])
  })

  it("removes it only for its own callers, and not against the governing policy", () => {
    const { modesSeenBy, meshServices } = world(ofEvil({ hosts: ["web.app"], ...plain }))
    expect(modesSeenBy("evil")).toEqual(["DISABLE"])
    meshServices.set(meshService("web", { hosts: ["web"], ...mutual }))
    expect(modesSeenBy("evil")).toEqual(["DUBBO_MUTUAL"])
  })

  it("defines no subset for others", () => {
    const own = meshService("web", {
      hosts: ["web"],
      routes: to({ host: "web", name: "v1", labels: { version: "v1" } }),
    })
    const { modesSeenBy } = world(
      own,
      ofEvil({ hosts: ["mine"], routes: to({ host: "web.app", name: "v1", labels: { version: "v1" }, ...plain }) }),
    )
    expect(modesSeenBy("shop")).toEqual([undefined])
  })

  it("yields to the root namespace's, which yields to the one in the Service's namespace", () => {
    const root = meshService("m", { hosts: ["web.app"], ...mutual }, { namespace: ROOT })
    const { modesSeenBy, meshServices } = world(redirect, root)
    expect(modesSeenBy("evil")).toEqual(["DUBBO_MUTUAL"])
    meshServices.set(meshService("web", { hosts: ["web"], ...plain }, { created: "2026-05-01T00:00:00Z" }))
    expect(modesSeenBy("shop")).toEqual(["DISABLE"])
  })
})

it("lets a namespace route its own host to another namespace, with own subsets and mode", () => {
  const front = meshService(
    "front",
    { hosts: ["front"], routes: to({ host: "web.app", name: "v1", labels: { version: "v1" }, ...plain }) },
    { namespace: "shop" },
  )
  const { modesSeenBy, hostsSeenBy } = world(front)
  expect(hostsSeenBy("app", "front.shop:80")).toEqual([WEB])
  expect(modesSeenBy("app", "front.shop:80")).toEqual(["DISABLE"])
  expect(modesSeenBy("app")).toEqual([undefined])
})

it("limits a tenant's external names to its own callers", () => {
  const outside = (namespace: string) =>
    meshService("m", { hosts: ["pay.example.com"], routes: to({ host: "web.app" }) }, { namespace })
  expect(() => world(outside("evil")).hostsSeenBy("shop", "pay.example.com:80")).toThrow("no routes")
  expect(world(outside("evil")).hostsSeenBy("evil", "pay.example.com:80")).toEqual([WEB])
  expect(world(outside(ROOT)).hostsSeenBy("shop", "pay.example.com:80")).toEqual([WEB])
})

it.each([
  [WEB, "app"],
  ["web.app", undefined],
  ["a.web.app.svc.cluster.local", undefined],
  ["10.0.0.1", undefined],
])("assigns the host %s to the namespace %s", (host, namespace) => {
  expect(namespaceOf(host, SCOPE)).toBe(namespace)
})

it("reports which hosts of a document belong to others", () => {
  expect(guestHosts(ofEvil({ hosts: ["mine", "web.app", "mine.evil", "pay.example.com"] }), SCOPE)).toEqual([
    "web.app",
    "pay.example.com",
  ])
  expect(guestHosts(meshService("m", { hosts: ["web.app"] }, { namespace: ROOT }), SCOPE)).toEqual([])
  expect(clusterName({ port: 80, subset: "", host: WEB, guest: "evil" })).toBe(`outbound|80||${WEB}|evil`)
})
