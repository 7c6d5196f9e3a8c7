// SPDX-License-Identifier: Apache-2.0
import type { MeshService, PeerAuthentication } from "@merlon/policy/resources"
import { CLUSTER, HOST_ROUTES, loadRouteEncoders } from "@merlon/xds"
import { expect, it, vi } from "vitest"
import { PeerModeSource } from "./peer-mode-source.js"
import { RouteClients } from "./route-clients.js"
import { MeshRoutes } from "./route-resources.js"
import { MemoryDirectory, MemoryDocuments } from "./testing/memory-directory.js"
import { MESH, meshService, service, workload } from "./testing/mesh.js"

const encoders = await loadRouteEncoders()

function world() {
  const directory = new MemoryDirectory()
  const meshServices = new MemoryDocuments<MeshService>()
  directory.setWorkload("app/web-1", workload("web-1", { labels: { app: "web" }, addresses: ["10.0.0.1"] }))
  directory.setService(service("web", { addresses: ["10.96.0.7"] }))
  const split = (weight: number) =>
    meshService("split", { hosts: ["web"], routes: [{ service: [{ host: "web", weight }] }] })
  const set = (weight: number): void => meshServices.set(split(weight))
  set(1)
  const routes = new MeshRoutes({
    directory,
    meshServices,
    modes: new PeerModeSource(new MemoryDocuments<PeerAuthentication>(), MESH),
    trust: {
      current: { bundle: "PEM", signer: "ab", revokedIdentities: [], revokedSerials: [] },
      onChange: () => () => {},
    },
    encoders,
    mesh: MESH,
  })
  const clients = new RouteClients({ routes })
  const watch = (pod: string, typeUrl: string = HOST_ROUTES, host = "web.app:80") =>
    clients.watch(
      {
        caller: { trustDomain: "cluster.local", namespace: "other", serviceAccount: "default", proof: "token" },
        node: { id: `other/${pod}`, metadata: {}, peerAddress: "10.0.0.9" },
      },
      typeUrl,
      new Set([host]),
      () => {},
    )
  return { clients, watch, set }
}

it("counts clients of a MeshService's hosts, and those with the current routes", async () => {
  const { clients, watch, set } = world()
  const received: string[] = []
  clients.onChange(keys => received.push(...keys))
  const a = watch("a")
  const b = watch("b")
  expect(clients.count("app", "split")).toMatchObject({ clients: 2, acknowledged: 0, waiting: ["other/a", "other/b"] })
  a.acknowledged?.(a.snapshot().revision)
  b.rejected?.(b.snapshot().revision, "no such thing")
  expect(clients.count("app", "split")).toEqual({
    clients: 2,
    acknowledged: 1,
    waiting: ["other/b"],
    rejection: { client: "other/b", message: "no such thing" },
  })
  await vi.waitFor(() => expect(received).toContain("app/split"), 90_000)

  set(2)
  await vi.waitFor(() => expect(clients.count("app", "split").acknowledged).toBe(0), 90_000)
  a.acknowledged?.(a.snapshot().revision)
  b.acknowledged?.(b.snapshot().revision)
  expect(clients.count("app", "split")).toEqual({ clients: 2, acknowledged: 2, waiting: [], rejection: undefined })
  a.close()
  b.close()
  expect(clients.count("app", "split").clients).toBe(0)
})

it("counts no clients for other hosts and derived resources", () => {
  const { clients, watch } = world()
  watch("a", HOST_ROUTES, "shop.app:80")
  watch("b", CLUSTER, "outbound|80||web.app.svc.cluster.local")
  expect(clients.count("app", "split").clients).toBe(0)
})

it("counts clients that use the cluster IP", () => {
  const { clients, watch } = world()
  watch("captured", HOST_ROUTES, "10.96.0.7:80")
  expect(clients.count("app", "split")).toMatchObject({ clients: 1, waiting: ["other/captured"] })
})
