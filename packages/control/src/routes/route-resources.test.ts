// SPDX-License-Identifier: Apache-2.0
import type { MeshService, PeerAuthentication } from "@merlon/policy/resources"
import {
  CLUSTER,
  decodeHostRoutes,
  ENDPOINTS,
  HOST_ROUTES,
  LISTENER,
  loadRouteEncoders,
  ROUTE_CONFIGURATION,
  type TrustSpec,
} from "@merlon/xds"
import { describe, expect, it } from "vitest"
import type { RouteClient } from "../distribution/delegate.js"
import type { Scheduler } from "../snapshot/burst.js"
import { PeerModeSource } from "./peer-mode-source.js"
import { MeshRoutes } from "./route-resources.js"
import { MemoryDirectory, MemoryDocuments } from "./testing/memory-directory.js"
import { MESH, meshService, peerAuthentication, service, workload } from "./testing/mesh.js"

const encoders = await loadRouteEncoders()
const WEB = "web.app.svc.cluster.local"
const SHOP = "shop.app.svc.cluster.local"
const V1 = `outbound|80|v1|${WEB}`
const TRUST: TrustSpec = { bundle: "PEM", signer: "ab", revokedIdentities: [], revokedSerials: [] }
const split = (v1: number, v2: number) => ({
  hosts: ["web"],
  routes: [
    {
      service: [
        { host: "web", name: "v1", labels: { version: "v1" }, weight: v1 },
        { host: "web", name: "v2", labels: { version: "v2" }, weight: v2 },
      ],
    },
  ],
})

function clientIn(namespace: string): RouteClient {
  return {
    caller: { trustDomain: "cluster.local", namespace, serviceAccount: "default", proof: "token" },
    node: { id: `${namespace}/x`, metadata: {}, peerAddress: "10.0.0.9" },
  }
}

class World {
  readonly directory = new MemoryDirectory()
  readonly meshServices = new MemoryDocuments<MeshService>()
  readonly peerAuthentications = new MemoryDocuments<PeerAuthentication>()
  readonly woken: string[] = []
  readonly #due: (() => void)[] = []
  readonly #trustListeners = new Set<() => void>()
  readonly trust = {
    current: TRUST,
    onChange: (listener: () => void) => {
      this.#trustListeners.add(listener)
      return () => {
        this.#trustListeners.delete(listener)
      }
    },
  }
  readonly routes: MeshRoutes

  constructor() {
    const scheduler: Scheduler = {
      now: () => 0,
      soon: run => {
        this.#due.push(run)
      },
      later: run => {
        this.#due.push(run)
        return () => {}
      },
    }
    for (const [name, version, address] of [
      ["web-1", "v1", "10.0.0.1"],
      ["web-2", "v2", "10.0.0.2"],
      ["shop-1", "v1", "10.0.0.3"],
    ] as const) {
      const labels = { app: name.slice(0, -2), version }
      this.directory.setWorkload(`app/${name}`, workload(name, { labels, addresses: [address] }))
    }
    this.directory.setService(service("web"))
    this.directory.setService(service("shop"))
    this.routes = new MeshRoutes({
      directory: this.directory,
      meshServices: this.meshServices,
      modes: new PeerModeSource(this.peerAuthentications, MESH),
      trust: this.trust,
      encoders,
      mesh: MESH,
      scheduler,
    })
  }

  watch(typeUrl: string, names: "*" | readonly string[], namespace = "other") {
    const short = typeUrl.split(".").at(-1) ?? typeUrl
    return this.routes.watch(clientIn(namespace), typeUrl, names === "*" ? "*" : new Set(names), () => {
      this.woken.push(`${short} ${names === "*" ? "*" : names.join()}`)
    })
  }

  setTrust(trust: TrustSpec): void {
    this.trust.current = trust
    for (const listener of this.#trustListeners) listener()
  }

  /** Runs everything that is scheduled, and returns the watches that were woken. */
  pass(): readonly string[] {
    for (let run = this.#due.shift(); run !== undefined; run = this.#due.shift()) run()
    return this.woken.splice(0).sort()
  }
}

describe("a watch of names", () => {
  it("returns existing resources under the requested names", () => {
    const world = new World()
    const watch = world.watch(LISTENER, ["web.app:80", `${WEB}:80`, "web.app.svc", "web:80", "nope.app:80", "?"])
    expect([...watch.snapshot().resources.keys()]).toEqual(["web.app:80", `${WEB}:80`, "web.app.svc"])
  })

  it("resolves a host without a dot to a Service of the caller's namespace", () => {
    const world = new World()
    expect(world.watch(ROUTE_CONFIGURATION, ["web:80"], "app").snapshot().resources.size).toBe(1)
    expect(world.watch(ROUTE_CONFIGURATION, ["web:80"], "other").snapshot().resources.size).toBe(0)
  })

  it("keeps snapshot and revision while nothing changes", () => {
    const watch = new World().watch(CLUSTER, [`outbound|80||${WEB}`])
    expect(watch.snapshot()).toBe(watch.snapshot())
  })

  it("returns a requested resource as soon as it exists", () => {
    const world = new World()
    const watch = world.watch(CLUSTER, [V1])
    const before = watch.snapshot()
    expect(before.resources.size).toBe(0)
    world.meshServices.set(meshService("web", split(50, 50)))
    expect(world.pass()).toEqual([`Cluster ${V1}`])
    expect(watch.snapshot().resources.size).toBe(1)
    expect(watch.snapshot().revision).toBeGreaterThan(before.revision)
    world.meshServices.remove("app/web")
    expect(world.pass()).toEqual([`Cluster ${V1}`])
    expect(watch.snapshot().resources.size).toBe(0)
  })
})

describe("a change notifies only the watches that see it", () => {
  function everything() {
    const world = new World()
    world.meshServices.set(meshService("web", split(50, 50)))
    for (const host of [WEB, SHOP]) {
      world.watch(LISTENER, [`${host}:80`])
      world.watch(ROUTE_CONFIGURATION, [`${host}:80`])
      world.watch(CLUSTER, [`outbound|80||${host}`])
      world.watch(ENDPOINTS, [`outbound|80||${host}`])
    }
    world.watch(ENDPOINTS, [V1])
    expect(world.pass()).toEqual([])
    return world
  }
  const endpoints = (name: string) => `ClusterLoadAssignment ${name}`
  const web = { app: "web", version: "v1" }
  const cases: readonly [string, (world: World) => void, readonly string[]][] = [
    ["a weight", world => world.meshServices.set(meshService("web", split(90, 10))), [`RouteConfiguration ${WEB}:80`]],
    ["the same weights", world => world.meshServices.set(meshService("web", split(50, 50))), []],
    [
      "readiness",
      world => world.directory.setWorkload("app/web-1", workload("web-1", { labels: web, ready: false })),
      [endpoints(V1), endpoints(`outbound|80||${WEB}`)],
    ],
    [
      "a pod of another subset",
      world =>
        world.directory.setWorkload(
          "app/web-3",
          workload("web-3", { labels: { ...web, version: "v2" }, addresses: ["10.0.0.4"] }),
        ),
      [endpoints(`outbound|80||${WEB}`)],
    ],
    [
      "a pod that moves to another subset",
      world => world.directory.setWorkload("app/web-1", workload("web-1", { labels: { ...web, version: "v2" } })),
      [endpoints(V1)],
    ],
    [
      "a pod with another identity",
      world => world.directory.setWorkload("app/web-1", workload("web-1", { labels: web, serviceAccount: "x" })),
      [],
    ],
    [
      "a deleted Service",
      world => world.directory.removeService(SHOP),
      [
        endpoints(`outbound|80||${SHOP}`),
        `Cluster outbound|80||${SHOP}`,
        `Listener ${SHOP}:80`,
        `RouteConfiguration ${SHOP}:80`,
      ],
    ],
    [
      "a mode that allows only TLS",
      world => world.peerAuthentications.set(peerAuthentication("p", { mtls: { mode: "STRICT" } })),
      [`Cluster outbound|80||${SHOP}`, `Cluster outbound|80||${WEB}`],
    ],
    [
      "a mode of another namespace",
      world =>
        world.peerAuthentications.set(peerAuthentication("p", { mtls: { mode: "STRICT" } }, { namespace: "else" })),
      [],
    ],
    [
      "a mode of the whole mesh",
      world =>
        world.peerAuthentications.set(
          peerAuthentication("p", { mtls: { mode: "STRICT" } }, { namespace: "merlon-system" }),
        ),
      [`Cluster outbound|80||${SHOP}`, `Cluster outbound|80||${WEB}`],
    ],
    ["an unknown pod", world => world.directory.setWorkload("app/x", workload("x")), []],
  ]
  it.each(cases)("%s", (_, change, woken) => {
    const world = everything()
    change(world)
    expect(world.pass()).toEqual([...woken].sort())
  })

  it("several together notify once", () => {
    const world = everything()
    world.meshServices.set(meshService("web", split(90, 10)))
    world.meshServices.set(meshService("web", split(80, 20)))
    expect(world.pass()).toEqual([`RouteConfiguration ${WEB}:80`])
  })

  it("a change that was undone in between notifies no watch", () => {
    const world = everything()
    world.meshServices.set(meshService("web", split(90, 10)))
    world.meshServices.set(meshService("web", split(50, 50)))
    expect(world.pass()).toEqual([])
  })
})

describe("a snapshot", () => {
  it("shows changes before any watch was notified", () => {
    const world = new World()
    const watch = world.watch(ENDPOINTS, [`outbound|80||${WEB}`])
    const before = watch.snapshot().resources.get(`outbound|80||${WEB}`)?.version
    world.directory.setWorkload("app/web-1", undefined)
    expect(watch.snapshot().resources.get(`outbound|80||${WEB}`)?.version).not.toBe(before)
    expect(world.woken).toEqual([])
    expect(world.pass()).toEqual([`ClusterLoadAssignment outbound|80||${WEB}`])
  })

  it("has the same versions from another replica", () => {
    const names = [`outbound|80||${WEB}`]
    const [one, two] = [new World(), new World()].map(world => world.watch(CLUSTER, names).snapshot().resources)
    expect(one).toEqual(two)
  })
})

describe("a watch that was closed", () => {
  it("is not woken any more", () => {
    const world = new World()
    const watch = world.watch(ENDPOINTS, [`outbound|80||${WEB}`])
    world.directory.setWorkload("app/web-1", undefined)
    watch.close()
    expect(world.pass()).toEqual([])
  })

  it("does not affect other watches of the same resource", () => {
    const world = new World()
    const name = `outbound|80||${WEB}`
    const [first] = [world.watch(ENDPOINTS, [name]), world.watch(ENDPOINTS, [name])]
    first?.close()
    world.directory.setWorkload("app/web-1", undefined)
    expect(world.pass()).toEqual([`ClusterLoadAssignment ${name}`])
  })
})

describe("a watch of everything", () => {
  const namesOf = (watch: ReturnType<World["watch"]>) => [...watch.snapshot().resources.keys()].sort()

  it("has all hosts, and clusters without default routes", () => {
    const world = new World()
    world.meshServices.set(meshService("web", split(50, 50)))
    expect(namesOf(world.watch(LISTENER, "*"))).toEqual([`${SHOP}:80`, `${WEB}:80`])
    expect(namesOf(world.watch(CLUSTER, "*"))).toEqual([
      `outbound|80|v1|${WEB}`,
      `outbound|80|v2|${WEB}`,
      `outbound|80||${SHOP}`,
      `outbound|80||${WEB}`,
    ])
  })

  it("follows added and removed hosts", () => {
    const world = new World()
    const listeners = world.watch(LISTENER, "*")
    const clusters = world.watch(CLUSTER, "*")
    world.meshServices.set(meshService("web", split(50, 50)))
    expect(world.pass()).toEqual(["Cluster *"])
    expect(namesOf(clusters)).toContain(V1)
    world.directory.setService(service("new"))
    expect(world.pass()).toEqual(["Cluster *", "Listener *"])
    expect(namesOf(listeners)).toContain("new.app.svc.cluster.local:80")
    world.directory.removeService(SHOP)
    expect(world.pass()).toEqual(["Cluster *", "Listener *"])
    expect(namesOf(listeners)).not.toContain(`${SHOP}:80`)
    world.meshServices.remove("app/web")
    expect(world.pass()).toEqual(["Cluster *"])
    expect(namesOf(clusters)).toEqual([`outbound|80||new.app.svc.cluster.local`, `outbound|80||${WEB}`])
  })

  it("includes a host without a Service once its routes have a destination", () => {
    const world = new World()
    const listeners = world.watch(LISTENER, "*")
    world.meshServices.set(meshService("front", { hosts: ["front"], routes: [{ service: [{ host: "late" }] }] }))
    world.pass()
    expect(namesOf(listeners)).not.toContain("front.app.svc.cluster.local:80")
    world.directory.setService(service("late"))
    expect(world.pass()).toEqual(["Listener *"])
    expect(namesOf(listeners)).toContain("front.app.svc.cluster.local:80")
  })

  it("is dropped with its last client", () => {
    const world = new World()
    world.watch(LISTENER, "*").close()
    world.directory.setService(service("new"))
    expect(world.pass()).toEqual([])
    expect(namesOf(world.watch(LISTENER, "*"))).toContain("new.app.svc.cluster.local:80")
  })
})

describe("routes of one host in one resource", () => {
  it("name every destination, its endpoints, accepted modes and trusted identities", () => {
    const world = new World()
    world.meshServices.set(meshService("web", split(100, 0)))
    world.peerAuthentications.set(
      peerAuthentication("p", { selector: { matchLabels: { version: "v1" } }, mtls: { mode: "STRICT" } }),
    )
    const bytes = world.watch(HOST_ROUTES, ["web.app:80"]).snapshot().resources.get("web.app:80")?.value
    const spec = decodeHostRoutes(bytes ?? new Uint8Array())
    expect(spec.table.routes[0]?.destinations).toEqual([
      { cluster: V1, weight: 100 },
      { cluster: `outbound|80|v2|${WEB}`, weight: 0 },
    ])
    expect(spec.clusters.map(({ name, endpoints }) => [name, endpoints.map(({ address }) => address)])).toEqual([
      [V1, ["10.0.0.1"]],
      [`outbound|80|v2|${WEB}`, ["10.0.0.2"]],
    ])
    expect(spec.services).toEqual([{ host: WEB, ports: [{ port: 80, mtlsMode: "STRICT", mixed: true }] }])
    expect(spec.trust).toEqual(TRUST)
  })

  it.each<[string, (world: World) => void]>([
    ["trust", world => world.setTrust({ ...TRUST, revokedSerials: ["0A"] })],
    ["an endpoint", world => world.directory.setWorkload("app/web-1", undefined)],
    ["a mode", world => world.peerAuthentications.set(peerAuthentication("p", { mtls: { mode: "DISABLE" } }))],
    ["a weight", world => world.meshServices.set(meshService("web", split(1, 2)))],
  ])("change with %s", (_, change) => {
    const world = new World()
    world.watch(HOST_ROUTES, ["web.app:80"])
    world.watch(HOST_ROUTES, ["nope.app:80"])
    change(world)
    expect(world.pass()).toEqual(["HostRoutes web.app:80"])
  })
})

describe("an address", () => {
  const CLUSTER_IP = "10.96.0.7"
  const POD = "10.0.0.1"

  function routesTo(world: World, name: string) {
    const bytes = world.watch(HOST_ROUTES, [name]).snapshot().resources.get(name)?.value
    return bytes === undefined ? undefined : decodeHostRoutes(bytes)
  }

  it("of a Service has the routes of the Service, including MeshServices", () => {
    const world = new World()
    world.directory.setService(service("web", { addresses: [CLUSTER_IP, "fd00::7"] }))
    expect(routesTo(world, `${CLUSTER_IP}:81`)).toBeUndefined()
    world.meshServices.set(meshService("web", split(90, 10)))
    const byName = routesTo(world, "web.app:80")
    expect(byName?.table.routes[0]?.destinations).toHaveLength(2)
    for (const [address, alias] of [
      [`${CLUSTER_IP}:80`, CLUSTER_IP],
      ["[fd00::7]:80", "[fd00::7]"],
    ] as const) {
      const spec = routesTo(world, address)
      expect(spec?.table.aliases.at(-1)).toBe(alias)
      expect(spec).toEqual({ ...byName, table: spec?.table })
      expect(spec?.table).toEqual({ ...byName?.table, aliases: spec?.table.aliases })
    }
  })

  it("of a Service without a selector is unknown, like the API server's", () => {
    const world = new World()
    world.directory.setService(service("kubernetes", { selector: undefined, addresses: [CLUSTER_IP] }))
    expect(routesTo(world, `${CLUSTER_IP}:80`)).toBeUndefined()
  })

  it("of a proxied workload points to its proxy, which must prove the workload's identity", () => {
    const spec = routesTo(new World(), `${POD}:8080`)
    expect(spec?.table).toMatchObject({ host: POD, port: 8080, routes: [{ match: [] }] })
    expect(spec?.clusters).toMatchObject([
      {
        identities: ["spiffe://cluster.local/ns/app/sa/default"],
        endpoints: [{ address: POD, port: 15_080, workload: "app/web-1", mtlsMode: "PERMISSIVE" }],
      },
    ])
  })

  it("of a workload or port without a proxy, or of the proxy itself, is unknown", () => {
    const world = new World()
    world.directory.setWorkload("app/web-1", workload("web-1", { addresses: [POD], proxied: false }))
    expect(routesTo(world, `${POD}:8080`)).toBeUndefined()
    expect(routesTo(world, "10.0.0.2:9999")).toBeUndefined()
    expect(routesTo(world, "10.0.0.2:15080")).toBeUndefined()
  })

  it("that two workloads share belongs to the one that is ready", () => {
    const world = new World()
    world.directory.setWorkload("app/a", workload("a", { addresses: [POD], ready: false }))
    expect(routesTo(world, `${POD}:8080`)?.clusters[0]?.endpoints[0]?.workload).toBe("app/web-1")
  })

  it("notifies its watches when the workload leaves, or its address or mode changes", () => {
    const world = new World()
    world.watch(HOST_ROUTES, [`${POD}:8080`])
    world.directory.setWorkload("app/web-1", undefined)
    expect(world.pass()).toEqual([`HostRoutes ${POD}:8080`])
    world.directory.setWorkload("app/next", workload("next", { addresses: [POD] }))
    expect(world.pass()).toEqual([`HostRoutes ${POD}:8080`])
    world.peerAuthentications.set(peerAuthentication("default", { mtls: { mode: "STRICT" } }))
    expect(world.pass()).toEqual([`HostRoutes ${POD}:8080`])
  })

  it("that a MeshService names has the routes of the MeshService, unless it is a Service's", () => {
    const world = new World()
    const routes = [{ service: [{ host: "shop" }] }]
    const { rootNamespace: namespace } = MESH.names
    const shop = [{ service: [{ host: SHOP }] }]
    world.meshServices.set(meshService("by-address", { hosts: [CLUSTER_IP], routes: shop }, { namespace }))
    world.meshServices.set(meshService("guest", { hosts: [CLUSTER_IP], routes }))
    expect(routesTo(world, `${CLUSTER_IP}:80`)?.clusters[0]?.host).toBe(SHOP)
    world.directory.setService(service("web", { addresses: [CLUSTER_IP] }))
    expect(routesTo(world, `${CLUSTER_IP}:80`)?.clusters[0]?.host).toBe(WEB)
  })
})
