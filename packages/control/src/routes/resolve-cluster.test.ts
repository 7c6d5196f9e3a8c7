// SPDX-License-Identifier: Apache-2.0
import type { MeshService } from "@merlon/policy/resources"
import { describe, expect, it } from "vitest"
import { MeshServiceIndex } from "./mesh-service-index.js"
import { resolveCluster } from "./resolve-cluster.js"
import type { ModeOf } from "./route-context.js"
import { MemoryDirectory } from "./testing/memory-directory.js"
import { CLUSTER_DOMAIN, MESH, meshService, SCOPE, service, workload } from "./testing/mesh.js"

const WEB = "web.app.svc.cluster.local"
const v1 = { host: "web", name: "v1", labels: { version: "v1" } }
const to = (...destinations: readonly object[]) => [{ service: destinations }]

function mesh() {
  const directory = new MemoryDirectory()
  const known = [
    workload("web-b", { labels: { app: "web", version: "v2" }, addresses: ["10.0.0.2"], serviceAccount: "two" }),
    workload("web-a", { labels: { app: "web", version: "v1" }, addresses: ["10.0.0.1"], serviceAccount: "one" }),
    workload("web-c", { labels: { app: "web", version: "v1" }, addresses: ["10.0.0.3"], serviceAccount: "one" }),
    workload("other", { labels: { app: "other" }, addresses: ["10.0.0.9"] }),
  ]
  for (const each of known) directory.setWorkload(each.key, each)
  directory.setService(service("web"))
  return directory
}

function clusterOf(
  name: string,
  {
    documents = [],
    directory = mesh(),
    modeOf = () => "STRICT",
    config = MESH,
  }: {
    readonly documents?: readonly MeshService[]
    readonly directory?: MemoryDirectory
    readonly modeOf?: ModeOf
    readonly config?: typeof MESH
  } = {},
) {
  const meshServices = new MeshServiceIndex(SCOPE, documents)
  return resolveCluster(name, { meshServices, directory, mesh: config, modeOf, clusterDomain: CLUSTER_DOMAIN })
}

describe("a cluster of a Service", () => {
  it("lists the xserver ports of all endpoints, sorted, and the accepted identities", () => {
    expect(clusterOf(`outbound|80||${WEB}`)).toEqual({
      name: `outbound|80||${WEB}`,
      host: WEB,
      port: 80,
      subset: "",
      tlsMode: undefined,
      sni: WEB,
      identities: ["spiffe://cluster.local/ns/app/sa/one", "spiffe://cluster.local/ns/app/sa/two"],
      endpoints: [
        { address: "10.0.0.1", port: 15080, healthy: true, workload: "app/web-a", mtlsMode: "STRICT" },
        { address: "10.0.0.2", port: 15080, healthy: true, workload: "app/web-b", mtlsMode: "STRICT" },
        { address: "10.0.0.3", port: 15080, healthy: true, workload: "app/web-c", mtlsMode: "STRICT" },
      ],
    })
  })

  it("has only endpoints and identities with the labels of a subset", () => {
    const documents = [meshService("m", { hosts: ["web"], routes: to(v1) })]
    const cluster = clusterOf(`outbound|80|v1|${WEB}`, { documents })
    expect(cluster?.endpoints.map(({ workload: key }) => key)).toEqual(["app/web-a", "app/web-c"])
    expect(cluster?.identities).toEqual(["spiffe://cluster.local/ns/app/sa/one"])
  })

  it("is balanced as its destination says, then as the document does", () => {
    const loadBalancer = (simple: string) => ({ trafficPolicy: { loadBalancer: { simple } } })
    const routes = to({ ...v1, ...loadBalancer("RANDOM") }, { ...v1, name: "v2", labels: { version: "v2" } })
    const documents = [meshService("m", { hosts: ["web"], ...loadBalancer("ROUND_ROBIN"), routes })]
    const traffic = (name: string) => clusterOf(name, { documents })?.traffic
    expect(traffic(`outbound|80|v1|${WEB}`)).toEqual({ loadBalancer: "RANDOM" })
    expect(traffic(`outbound|80|v2|${WEB}`)).toEqual({ loadBalancer: "ROUND_ROBIN" })
  })

  it("takes limits and ejection from the destination, else from the document", () => {
    const connectionPool = {
      tcp: { maxConnections: 5, connectTimeout: "250ms", idleTimeout: "2m" },
      http: { http1MaxPendingRequests: 0, http2MaxRequests: 7, maxRequestsPerConnection: 9, idleTimeout: "1s" },
    }
    const outlierDetection = {
      ...{ consecutive5xxErrors: 0, consecutiveGatewayErrors: 3, interval: "5s", baseEjectionTime: "1m" },
      ...{ maxEjectionPercent: 50, minHealthPercent: 20 },
    }
    const own = { trafficPolicy: { connectionPool: { http: { http2MaxRequests: 1 } } } }
    const routes = to({ ...v1, ...own }, { ...v1, name: "v2", labels: { version: "v2" } })
    const documents = [
      meshService("m", { hosts: ["web"], trafficPolicy: { connectionPool, outlierDetection }, routes }),
    ]
    const traffic = (name: string) => clusterOf(name, { documents })?.traffic
    const outliers = {
      ...{ consecutive5xxErrors: 0, consecutiveGatewayErrors: 3, intervalMs: 5_000, baseEjectionMs: 60_000 },
      ...{ maxEjectionPercent: 50, minHealthPercent: 20 },
    }
    expect(traffic(`outbound|80|v1|${WEB}`)).toEqual({
      connectionPool: { maxRequests: 1 },
      outlierDetection: outliers,
    })
    expect(traffic(`outbound|80|v2|${WEB}`)).toEqual({
      connectionPool: {
        ...{ maxConnections: 5, connectTimeoutMs: 250, tcpIdleTimeoutMs: 120_000, maxPendingRequests: 0 },
        ...{ maxRequests: 7, maxRequestsPerConnection: 9, idleTimeoutMs: 1_000 },
      },
      outlierDetection: outliers,
    })
  })

  it("names identities in every trusted trust domain", () => {
    const config = { ...MESH, trustDomainAliases: ["old.td"] }
    const documents = [meshService("m", { hosts: ["web"], routes: to(v1) })]
    expect(clusterOf(`outbound|80|v1|${WEB}`, { documents, config })?.identities).toEqual([
      "spiffe://cluster.local/ns/app/sa/one",
      "spiffe://old.td/ns/app/sa/one",
    ])
  })

  it("uses the mode of each workload's own port", () => {
    const asked: unknown[] = []
    clusterOf(`outbound|80||${WEB}`, {
      modeOf: ({ key }, port) => {
        asked.push([key, port])
        return "DISABLE"
      },
    })
    expect(asked).toContainEqual(["app/web-a", 8080])
  })

  it("is empty at a port that the Service lacks", () => {
    expect(clusterOf(`outbound|82||${WEB}`)?.endpoints).toEqual([])
  })

  it.each(["nonsense", "outbound|80||none.app.svc.cluster.local", `outbound|80|v9|${WEB}`, "outbound|80||10.0.0.1"])(
    "does not exist as `%s`",
    name => {
      expect(clusterOf(name)).toBeUndefined()
    },
  )

  it("exists without endpoints if a MeshService names a missing Service", () => {
    const documents = [meshService("m", { hosts: ["web"], routes: to({ host: "none" }) })]
    expect(clusterOf("outbound|80||none.app.svc.cluster.local", { documents })?.endpoints).toEqual([])
  })

  it("is the address if a MeshService names one", () => {
    const documents = [meshService("m", { hosts: ["web"], routes: to({ host: "10.1.2.3" }) })]
    expect(clusterOf("outbound|80||10.1.2.3|app", { documents })?.endpoints).toEqual([
      { address: "10.1.2.3", port: 80, healthy: true, workload: "", mtlsMode: undefined },
    ])
  })
})

describe("an endpoint", () => {
  const labels = { app: "web" }
  const ports = [
    { port: 9000, name: "admin" },
    { port: 8080, name: "http" },
  ]
  const at = (port: number, extra: object = {}) => ({
    address: "10.0.0.1",
    port,
    healthy: true,
    workload: "app/w",
    mtlsMode: "STRICT",
    ...extra,
  })
  it.each([
    ["has the listen port of its target port", { ports }, 8080, [at(15081)]],
    ["is found by the name of a container port", { ports }, "http", [at(15081)]],
    ["is left out if it has no port of that name", { ports }, "grpc", []],
    ["is found by the port on which xserver listens", { ports }, 15081, [at(15081)]],
    ["has its own port without xserver", { ports, proxied: false }, "http", [at(8080, { mtlsMode: undefined })]],
    ["has its own port if xserver does not protect it", { ports }, 7000, [at(7000, { mtlsMode: undefined })]],
    ["is unhealthy while it is not ready", { ports, ready: false }, 8080, [at(15081, { healthy: false })]],
    ["is left out while its address is unknown", { ports, addresses: [] }, 8080, []],
    [
      "has the further addresses of a dual-stack Pod",
      { ports, addresses: ["10.0.0.1", "fd00::1"] },
      8080,
      [at(15081, { otherAddresses: ["fd00::1"] })],
    ],
  ])("%s", (_, words, targetPort, endpoints) => {
    const directory = new MemoryDirectory()
    directory.setWorkload("app/w", workload("w", { labels, ...words }))
    directory.setService(service("web", { ports: [{ port: 80, targetPort }] }))
    expect(clusterOf(`outbound|80||${WEB}`, { directory })?.endpoints).toEqual(endpoints)
  })

  it("of a Service without selector is unknown", () => {
    const directory = mesh()
    directory.setService(service("web", { selector: undefined }))
    expect(clusterOf(`outbound|80||${WEB}`, { directory })).toMatchObject({ endpoints: [], identities: [] })
  })
})

describe("the TLS mode", () => {
  const tls = (mode: string) => ({ trafficPolicy: { tls: { mode } } })
  const mutual = tls("DUBBO_MUTUAL")
  const plain = tls("DISABLE")
  const later = { created: "2026-02-01T00:00:00Z" }
  const cases: readonly [string, readonly MeshService[], string, string | undefined][] = [
    ["is undefined by default", [], "", undefined],
    ["is the document's", [meshService("m", { hosts: ["web"], ...mutual, routes: to(v1) })], "v1", "DUBBO_MUTUAL"],
    [
      "is the document's if it only names a host",
      [meshService("m", { hosts: ["web"], ...mutual })],
      "",
      "DUBBO_MUTUAL",
    ],
    [
      "is the destination's rather than the document's",
      [meshService("m", { hosts: ["web"], ...mutual, routes: to({ ...v1, ...plain }) })],
      "v1",
      "DISABLE",
    ],
    [
      "of one destination does not affect another",
      [meshService("m", { hosts: ["web"], routes: to({ ...v1, ...plain }, { host: "web" }) })],
      "",
      undefined,
    ],
    [
      "is the host owner's, even if another document is older",
      [
        meshService("front", { hosts: ["front"], ...plain, routes: to({ host: "web" }) }),
        meshService("web", { hosts: ["web"], ...mutual }, later),
      ],
      "",
      "DUBBO_MUTUAL",
    ],
    [
      "is the routing document's if the host has no owner",
      [meshService("front", { hosts: ["front"], ...mutual, routes: to({ host: "web" }) })],
      "",
      "DUBBO_MUTUAL",
    ],
    [
      "of a document that routes elsewhere has no effect",
      [meshService("front", { hosts: ["front"], ...mutual, routes: to({ host: "other" }) })],
      "",
      undefined,
    ],
  ]
  it.each(cases)("%s", (_, documents, subset, mode) => {
    expect(clusterOf(`outbound|80|${subset}|${WEB}`, { documents })?.tlsMode).toBe(mode)
  })
})

describe("a subset that two MeshServices define", () => {
  it("has the labels of the one that governs the host", () => {
    const documents = [
      meshService("front", { hosts: ["front"], routes: to({ ...v1, labels: { version: "v2" } }) }),
      meshService("web", { hosts: ["web"], routes: to(v1) }, { created: "2026-02-01T00:00:00Z" }),
    ]
    const endpoints = clusterOf(`outbound|80|v1|${WEB}`, { documents })?.endpoints
    expect(endpoints?.map(({ workload: key }) => key)).toEqual(["app/web-a", "app/web-c"])
  })
})
