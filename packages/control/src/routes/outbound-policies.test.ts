// SPDX-License-Identifier: Apache-2.0
// The outbound policy as proxies get it: through the same watches as routes.

import type { MeshService, PeerAuthentication } from "@merlon/policy/resources"
import { decodeHostRoutes, decodeOutboundPolicy, HOST_ROUTES, loadRouteEncoders, OUTBOUND_POLICY } from "@merlon/xds"
import { Emitter } from "@merlon/xds/runtime"
import { describe, expect, it } from "vitest"
import type { Change } from "../kubernetes/reflector.js"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { ManualScheduler, ManualTrust } from "../snapshot/testing/manual-sources.js"
import { outboundModes } from "./outbound-modes.js"
import { PeerModeSource } from "./peer-mode-source.js"
import { MeshRoutes } from "./route-resources.js"
import { MemoryDirectory, MemoryDocuments } from "./testing/memory-directory.js"
import { MESH, meshService, peerAuthentication, service, workload } from "./testing/mesh.js"

const encoders = await loadRouteEncoders()
const MUTUAL = { trafficPolicy: { tls: { mode: "DUBBO_MUTUAL" } } }
const STRICT = { mtls: { mode: "STRICT" } }
const ROOT = { namespace: MESH.names.rootNamespace }
const VIP = "10.96.0.1"

class Namespaces {
  readonly items = new Map<string, KubernetesObject>()
  readonly #changes = new Emitter<[change: Change<KubernetesObject>]>()

  onChange(listener: (change: Change<KubernetesObject>) => void): () => void {
    return this.#changes.on(listener)
  }

  label(name: string, value: string | undefined): void {
    const labels = value === undefined ? {} : { "merlon-outbound-policy": value }
    const object: KubernetesObject = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } }
    const previous = this.items.get(name)
    this.items.set(name, object)
    this.#changes.emit({ key: name, object, previous })
  }
}

function world(mode: "ALLOW_ANY" | "REGISTRY_ONLY" = "ALLOW_ANY") {
  const directory = new MemoryDirectory()
  const meshServices = new MemoryDocuments<MeshService>()
  const peers = new MemoryDocuments<PeerAuthentication>()
  const namespaces = new Namespaces()
  const scheduler = new ManualScheduler()
  const warnings: string[] = []
  const warn = (namespace: string, message: string) => void warnings.push(`${namespace}: ${message}`)
  const woken: string[] = []
  directory.setWorkload("app/web-1", workload("web-1", { labels: { app: "web" }, addresses: ["10.0.0.1", "fd00::1"] }))
  directory.setWorkload(
    "app/db-1",
    workload("db-1", { labels: { app: "db" }, addresses: ["10.0.0.2"], proxied: false }),
  )
  directory.setService(service("web", { addresses: [VIP, "fd96::1"] }))
  directory.setService(service("headless", { selector: { app: "web" } }))
  directory.setService(service("db", { addresses: ["10.96.0.2"] }))
  directory.setService(service("api", { addresses: ["10.96.0.3"], selector: undefined }))
  const routes = new MeshRoutes({
    directory,
    meshServices,
    modes: new PeerModeSource(peers, MESH),
    outboundModes: outboundModes({ namespaces, names: MESH.names, mode, warn }),
    trust: new ManualTrust(),
    encoders,
    mesh: MESH,
    scheduler,
  })
  const watch = (namespace: string, ...names: readonly string[]) =>
    routes.watch(
      {
        caller: { trustDomain: "cluster.local", namespace, serviceAccount: "x", proof: "token" },
        node: { id: `${namespace}/x`, metadata: {}, peerAddress: "10.0.0.9" },
      },
      HOST_ROUTES,
      new Set(names),
      () => woken.push(namespace),
    )
  const policyOf = (namespace = "caller") => {
    const { value = new Uint8Array() } =
      watch(namespace, OUTBOUND_POLICY).snapshot().resources.get(OUTBOUND_POLICY) ?? {}
    return decodeOutboundPolicy(value)
  }
  return { directory, meshServices, peers, namespaces, scheduler, warnings, woken, watch, policyOf }
}

type World = ReturnType<typeof world>
const WEB_PODS = ["10.0.0.1", "fd00::1"]
const WEB = [...WEB_PODS, VIP, "fd96::1"]

describe("addresses that require mTLS", () => {
  it.each<[string, (world: World) => void, readonly string[]]>([
    ["none by default", () => undefined, []],
    ["of a STRICT namespace", w => w.peers.set(peerAuthentication("default", STRICT)), WEB],
    [
      "of a STRICT workload that declares no port",
      w => {
        w.directory.setWorkload("app/job-1", workload("job-1", { addresses: ["10.0.0.5"], ports: [] }))
        w.peers.set(peerAuthentication("job", { selector: { matchLabels: {} }, ...STRICT }))
      },
      ["10.0.0.5", ...WEB],
    ],
    ["of a STRICT mesh", w => w.peers.set(peerAuthentication("default", STRICT, ROOT)), WEB],
    ["not of another STRICT namespace", w => w.peers.set(peerAuthentication("x", STRICT, { namespace: "y" })), []],
    [
      "of a workload with one STRICT port",
      w => {
        const ports = { selector: { matchLabels: { app: "web" } }, portLevelMtls: { 8080: { mode: "STRICT" } } }
        w.peers.set(peerAuthentication("port", ports))
      },
      WEB,
    ],
    [
      "of a host whose MeshService requires it",
      w => w.meshServices.set(meshService("m", { hosts: ["web"], ...MUTUAL })),
      WEB,
    ],
    ["of a headless host", w => w.meshServices.set(meshService("m", { hosts: ["headless"], ...MUTUAL })), WEB_PODS],
    [
      "of a host without proxies",
      w => w.meshServices.set(meshService("m", { hosts: ["db"], ...MUTUAL })),
      ["10.0.0.2", "10.96.0.2"],
    ],
    [
      "of a host, by one of its destinations",
      w => {
        const destination = { host: "web", name: "v1", labels: { version: "v1" }, ...MUTUAL }
        w.meshServices.set(meshService("m", { hosts: ["web"], routes: [{ service: [destination] }] }))
      },
      WEB,
    ],
    [
      "of a host with routes to one that requires it",
      w => {
        w.meshServices.set(meshService("m", { hosts: ["api"], routes: [{ service: [{ host: "web" }] }] }))
        w.meshServices.set(meshService("n", { hosts: ["web"], ...MUTUAL }))
      },
      [...WEB, "10.96.0.3"],
    ],
    [
      "of an address that a MeshService names",
      w => w.meshServices.set(meshService("m", { hosts: ["192.0.2.7"], ...MUTUAL }, ROOT)),
      ["192.0.2.7"],
    ],
    [
      "none of a deleted workload",
      w => {
        w.peers.set(peerAuthentication("default", STRICT))
        w.directory.setWorkload("app/web-1", undefined)
      },
      [],
    ],
    [
      "none once nothing requires it",
      w => {
        w.meshServices.set(meshService("m", { hosts: ["web"], ...MUTUAL }))
        w.meshServices.remove("app/m")
      },
      [],
    ],
  ])("%s", (_, change, expected) => {
    // Once for a new watch, and once for a watch that began before the change.
    const after = world()
    change(after)
    expect(after.policyOf().mtls).toEqual([...expected].sort())
    const before = world()
    const watch = before.watch("caller", OUTBOUND_POLICY)
    watch.snapshot()
    change(before)
    const { value } = watch.snapshot().resources.get(OUTBOUND_POLICY) ?? {}
    expect(decodeOutboundPolicy(value ?? new Uint8Array()).mtls).toEqual([...expected].sort())
  })

  it("apply only to callers of its own namespace if a guest's MeshService requires it", () => {
    const w = world()
    w.meshServices.set(meshService("m", { hosts: ["web.app"], ...MUTUAL }, { namespace: "guest" }))
    expect(w.policyOf("guest").mtls).toEqual([...WEB].sort())
    expect(w.policyOf("caller").mtls).toEqual([])
  })

  it("wake proxies only when they change", () => {
    const w = world()
    w.watch("caller", OUTBOUND_POLICY).snapshot()
    w.directory.setWorkload("app/web-2", workload("web-2", { labels: { app: "web" }, addresses: ["10.0.0.3"] }))
    w.scheduler.advance(10_000)
    expect(w.woken).toEqual([])
    w.peers.set(peerAuthentication("default", STRICT))
    w.scheduler.advance(10_000)
    expect(w.woken).toEqual(["caller"])
  })
})

describe("the mode", () => {
  it.each<["ALLOW_ANY" | "REGISTRY_ONLY", string | undefined, string]>([
    ["ALLOW_ANY", undefined, "ALLOW_ANY"],
    ["REGISTRY_ONLY", undefined, "REGISTRY_ONLY"],
    ["ALLOW_ANY", "REGISTRY_ONLY", "REGISTRY_ONLY"],
    ["REGISTRY_ONLY", "ALLOW_ANY", "ALLOW_ANY"],
    ["ALLOW_ANY", "registry-only", "REGISTRY_ONLY"],
  ])("of a mesh with %s and a namespace with the label %s is %s", (mode, label, expected) => {
    const w = world(mode)
    w.namespaces.label("caller", label)
    expect(w.policyOf().mode).toBe(expected)
  })

  it("changes only for watches of that namespace", () => {
    const w = world()
    const watch = w.watch("caller", OUTBOUND_POLICY)
    w.watch("other", OUTBOUND_POLICY).snapshot()
    watch.snapshot()
    w.namespaces.label("caller", "REGISTRY_ONLY")
    w.scheduler.advance(10_000)
    expect(w.woken).toEqual(["caller"])
    const { value } = watch.snapshot().resources.get(OUTBOUND_POLICY) ?? {}
    expect(decodeOutboundPolicy(value ?? new Uint8Array()).mode).toBe("REGISTRY_ONLY")
  })

  it("that is unreadable causes a warning", () => {
    const w = world()
    w.namespaces.label("caller", "nope")
    expect(w.warnings).toEqual([
      "caller: the label `merlon-outbound-policy` must be ALLOW_ANY or REGISTRY_ONLY; `nope` is treated as REGISTRY_ONLY",
    ])
  })
})

describe("under REGISTRY_ONLY, destinations without routes", () => {
  const NAMES = ["10.96.0.3:80", "10.0.0.2:5432", "10.96.0.3:81", "192.0.2.1:80"]

  it("are known if they are in the cluster, and route to the address itself", () => {
    const { resources } = world("REGISTRY_ONLY")
      .watch("caller", ...NAMES)
      .snapshot()
    expect([...resources.keys()]).toEqual(["10.96.0.3:80", "10.0.0.2:5432"])
    const { value = new Uint8Array() } = resources.get("10.96.0.3:80") ?? {}
    const [cluster] = decodeHostRoutes(value).clusters
    expect(cluster).toMatchObject({ endpoints: [{ address: "10.96.0.3", port: 80, workload: "" }] })
    expect([cluster?.tlsMode, cluster?.endpoints[0]?.mtlsMode]).toEqual([undefined, undefined])
  })

  it("are sent to watches when the mode changes or the Pod is added", () => {
    const w = world()
    const watch = w.watch("caller", ...NAMES)
    expect(watch.snapshot().resources.size).toBe(0)
    w.namespaces.label("caller", "REGISTRY_ONLY")
    expect(watch.snapshot().resources.size).toBe(2)
    w.directory.setWorkload("app/new", workload("new", { addresses: ["192.0.2.1"], proxied: false }))
    expect(watch.snapshot().resources.size).toBe(3)
    w.namespaces.label("caller", undefined)
    expect(watch.snapshot().resources.size).toBe(0)
  })
})
