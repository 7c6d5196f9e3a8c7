// SPDX-License-Identifier: Apache-2.0
// Golden files of the encoded resources. `npx vitest run packages/xds/src/envoy -u` updates them.

import { createRegistry, type DescMessage, fromBinary, toBinary, toJson } from "@bufbuild/protobuf"
import { describe, expect, it } from "vitest"
import { ClusterSchema } from "../generated/envoy/config/cluster/v3/cluster_pb.js"
import type { Address } from "../generated/envoy/config/core/v3/address_pb.js"
import { ClusterLoadAssignmentSchema } from "../generated/envoy/config/endpoint/v3/endpoint_pb.js"
import { ListenerSchema } from "../generated/envoy/config/listener/v3/listener_pb.js"
import { RouteConfigurationSchema } from "../generated/envoy/config/route/v3/route_pb.js"
import { RouterSchema } from "../generated/envoy/extensions/filters/http/router/v3/router_pb.js"
import { HttpConnectionManagerSchema } from "../generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js"
import { UpstreamTlsContextSchema } from "../generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js"
import { HttpProtocolOptionsSchema } from "../generated/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js"
import { loadRouteEncoders } from "../route-encoders.js"
import type { RouteTable, ServiceCluster, ServiceEndpoint } from "../route-table.js"
import type { RetrySpec } from "../traffic.js"

const registry = createRegistry(
  RouterSchema,
  HttpConnectionManagerSchema,
  UpstreamTlsContextSchema,
  HttpProtocolOptionsSchema,
)
const encoders = await loadRouteEncoders()
const WEB = "web.app.svc.cluster.local"
const V1 = `outbound|80|v1|${WEB}`
const V2 = `outbound|80|v2|${WEB}`

const endpoints: readonly ServiceEndpoint[] = [
  { address: "10.0.0.1", port: 15080, healthy: true, workload: "app/web-1", mtlsMode: "STRICT" },
  { address: "10.0.0.2", port: 8080, healthy: false, workload: "app/web-2", mtlsMode: undefined },
]

const cluster: ServiceCluster = {
  name: V1,
  host: WEB,
  port: 80,
  subset: "v1",
  tlsMode: "DUBBO_MUTUAL",
  sni: WEB,
  identities: ["spiffe://cluster.local/ns/app/sa/web"],
  endpoints,
}

const to = (name: string, weight = 100) => [{ cluster: name, weight }]

const table: RouteTable = {
  host: WEB,
  port: 80,
  aliases: ["web", "web.app", "web.app.svc"],
  routes: [
    {
      match: [
        {
          uri: { prefix: "/api" },
          method: { exact: "POST" },
          headers: { "X-Tier": { regex: "gold|silver" }, "x-any": { prefix: "" }, "x-empty": { exact: "" } },
          queryParams: { q: { prefix: "x" }, any: { prefix: "" } },
        },
        { uri: { exact: "/health" } },
        { uri: { regex: "/v[0-9]+|/w" } },
      ],
      destinations: [
        { cluster: V1, weight: 90 },
        { cluster: V2, weight: 10 },
      ],
    },
    {
      match: [{ host: { regex: "web|web\\.app" } }, { host: { exact: WEB }, method: { exact: "GET" } }],
      destinations: to(V2),
    },
    { match: [], destinations: to(V1) },
  ],
}

function jsonOf<D extends DescMessage>(schema: D, bytes: Uint8Array): string {
  const message = fromBinary(schema, bytes)
  // Encoding the decoded message again must yield the same bytes, so that nothing is lost or unknown.
  expect(toBinary(schema, message)).toEqual(bytes)
  return `${JSON.stringify(toJson(schema, message, { registry }), undefined, 2)}\n`
}

describe("standard xDS", () => {
  it("has an API listener whose routes are sent over ADS", async () => {
    const json = jsonOf(ListenerSchema, encoders.listener("web.app:80", `${WEB}:80`))
    await expect(json).toMatchFileSnapshot("testdata/listener.golden")
  })

  it("has every match and weight, and a virtual host for hosts with other routes", async () => {
    const json = jsonOf(RouteConfigurationSchema, encoders.routes(`${WEB}:80`, table))
    await expect(json).toMatchFileSnapshot("testdata/routes.golden")
  })

  it("has a cluster with TLS under DUBBO_MUTUAL", async () => {
    await expect(jsonOf(ClusterSchema, encoders.cluster(cluster))).toMatchFileSnapshot("testdata/cluster-mutual.golden")
  })

  it("has a cluster without TLS under DISABLE", async () => {
    const json = jsonOf(ClusterSchema, encoders.cluster({ ...cluster, tlsMode: "DISABLE" }))
    await expect(json).toMatchFileSnapshot("testdata/cluster-plain.golden")
  })

  it("has endpoints with their health", async () => {
    const json = jsonOf(ClusterLoadAssignmentSchema, encoders.endpoints(V1, endpoints))
    await expect(json).toMatchFileSnapshot("testdata/endpoints.golden")
  })
})

describe("traffic settings of a MeshService", () => {
  it("set limits, outlier detection and load balancing of a cluster", () => {
    const traffic = {
      loadBalancer: "RANDOM",
      connectionPool: { maxConnections: 3, maxPendingRequests: 0, maxRequests: 7, connectTimeoutMs: 250 },
      outlierDetection: {
        consecutive5xxErrors: 4,
        consecutiveGatewayErrors: 2,
        intervalMs: 1_500,
        minHealthPercent: 50,
      },
    } as const
    expect(JSON.parse(jsonOf(ClusterSchema, encoders.cluster({ ...cluster, traffic })))).toMatchObject({
      lbPolicy: "RANDOM",
      connectTimeout: "0.250s",
      commonLbConfig: { healthyPanicThreshold: { value: 50 } },
      circuitBreakers: { thresholds: [{ maxConnections: 3, maxPendingRequests: 0, maxRequests: 7 }] },
      outlierDetection: {
        ...{ consecutive5xx: 4, consecutiveGatewayFailure: 2, enforcingConsecutiveGatewayFailure: 100 },
        ...{ interval: "1.500s", enforcingSuccessRate: 0, enforcingFailurePercentage: 0 },
      },
    })
  })

  it("can turn off ejection by 5xx", () => {
    const traffic = { outlierDetection: { consecutive5xxErrors: 0 } }
    const { outlierDetection } = fromBinary(ClusterSchema, encoders.cluster({ ...cluster, traffic }))
    expect(outlierDetection?.enforcingConsecutive5xx).toBe(0)
  })

  const RETRIES = { attempts: 2, retryOn: ["reset", "503", "unavailable"], nonIdempotent: true }
  const policyOf = (retries: RetrySpec) => {
    const routes = encoders.routes("r", { ...table, routes: [{ match: [], destinations: to(V1), retries }] })
    const action = fromBinary(RouteConfigurationSchema, routes).virtualHosts[0]?.routes[0]?.action
    return action?.case === "route" ? action.value.retryPolicy : undefined
  }

  it("set count and conditions of retries", () => {
    expect(policyOf({ ...RETRIES, perTryTimeoutMs: 250 })).toMatchObject({
      ...{ retryOn: "reset,unavailable,retriable-status-codes", numRetries: 2, retriableStatusCodes: [503] },
      ...{ perTryTimeout: { nanos: 250_000_000 }, retriableRequestHeaders: [] },
    })
  })

  it("retry POST and gRPC calls only on request", () => {
    const policy = policyOf({ ...RETRIES, nonIdempotent: false })
    expect(policy?.retryOn).toBe("reset,retriable-status-codes")
    const methods = policy?.retriableRequestHeaders.map(({ headerMatchSpecifier: { value } }) =>
      typeof value === "object" && "matchPattern" in value ? value.matchPattern.value : undefined,
    )
    expect(methods).toEqual(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
  })

  it.each([
    ["with zero attempts", { ...RETRIES, attempts: 0 }],
    ["only for gRPC calls that must not be retried", { ...RETRIES, retryOn: ["unavailable"], nonIdempotent: false }],
  ])("encode no retries %s", (_, retries) => {
    expect(policyOf(retries)).toBeUndefined()
  })
})

it("contains each address of a workload once", () => {
  const endpoint = { port: 80, healthy: true, workload: "app/a", mtlsMode: undefined }
  const bytes = encoders.endpoints(V1, [
    { ...endpoint, address: "10.0.0.1", otherAddresses: ["fd00::1"] },
    { ...endpoint, address: "10.0.0.2", otherAddresses: ["fd00::1", "10.0.0.1", "fd00::2"] },
  ])
  const [locality] = fromBinary(ClusterLoadAssignmentSchema, bytes).endpoints
  const textOf = (address: Address | undefined) =>
    address?.address.case === "socketAddress" ? address.address.value.address : undefined
  const addresses = locality?.lbEndpoints.map(({ hostIdentifier: { value } }) =>
    typeof value === "object"
      ? [textOf(value.address), ...value.additionalAddresses.map(({ address }) => textOf(address))]
      : [],
  )
  expect(addresses).toEqual([
    ["10.0.0.1", "fd00::1"],
    ["10.0.0.2", "fd00::2"],
  ])
})

describe("a virtual host", () => {
  const domainsOf = (changed: Partial<RouteTable>) =>
    fromBinary(RouteConfigurationSchema, encoders.routes("r", { ...table, ...changed })).virtualHosts.map(
      ({ domains }) => domains,
    )

  it("covers all host names if no route matches by host", () => {
    expect(domainsOf({ routes: [{ match: [], destinations: to(V1) }] })).toEqual([
      [WEB, `${WEB}:80`, "web", "web:80", "web.app", "web.app:80", "web.app.svc", "web.app.svc:80"],
    ])
  })

  it("puts brackets around an IPv6 address", () => {
    const changed = { host: "::1", aliases: [], routes: [{ match: [], destinations: to(V1) }] }
    expect(domainsOf(changed)).toEqual([["[::1]", "[::1]:80"]])
  })
})

describe("weights", () => {
  const weightsOf = (...weights: readonly number[]) => {
    const destinations = weights.map((weight, index) => ({ cluster: `c${index}`, weight }))
    const routes = encoders.routes("r", { ...table, routes: [{ match: [], destinations }] })
    const action = fromBinary(RouteConfigurationSchema, routes).virtualHosts[0]?.routes[0]?.action
    const specifier = action?.case === "route" ? action.value.clusterSpecifier : undefined
    return specifier?.case === "weightedClusters" ? specifier.value.clusters.map(({ weight }) => weight) : undefined
  }

  it("are sent as written, 0 included", () => {
    expect(weightsOf(1, 0, 7)).toEqual([1, 0, 7])
  })

  it("that add up to more than 32 bits are scaled, and every destination keeps a share", () => {
    const max = 2_147_483_647
    const scaled = weightsOf(max, max, max, 1, 0) ?? []
    const sum = scaled.reduce((total = 0, weight) => total + (weight ?? 0), 0)
    expect(sum).toBeLessThanOrEqual(0xffff_ffff)
    expect(scaled.slice(3)).toEqual([1, 0])
    expect(scaled[0]).toBeGreaterThan(1_431_000_000)
    expect(scaled[0]).toBe(scaled[2])
  })
})

describe("a cluster calls with TLS", () => {
  const strict = { address: "10.0.0.1", port: 15080, healthy: true, workload: "a/b", mtlsMode: "STRICT" } as const
  const cases: readonly [string, Partial<ServiceCluster>, boolean][] = [
    ["if a MeshService requires it", { tlsMode: "DUBBO_MUTUAL", endpoints: [] }, true],
    ["never if a MeshService disables it", { tlsMode: "DISABLE", endpoints: [strict] }, false],
    ["if no MeshService decides and all endpoints require it", { tlsMode: undefined, endpoints: [strict] }, true],
    [
      "not if no MeshService decides and some endpoints accept plaintext",
      { tlsMode: undefined, endpoints: [strict, { ...strict, mtlsMode: "PERMISSIVE" }] },
      false,
    ],
    ["not if no MeshService decides and there are no endpoints", { tlsMode: undefined, endpoints: [] }, false],
  ]
  it.each(cases)("%s", (_, changed, tls) => {
    const { transportSocket } = fromBinary(ClusterSchema, encoders.cluster({ ...cluster, ...changed }))
    expect(transportSocket !== undefined).toBe(tls)
  })

  it("trusts no identity if the Service has no workloads", () => {
    const json = jsonOf(ClusterSchema, encoders.cluster({ ...cluster, identities: [] }))
    expect(json).toContain(`"exact": "spiffe://nobody.invalid"`)
  })
})

it("merges endpoints with the same address, and prefers the ready one", () => {
  const twice = [
    { ...endpoints[0], address: "10.0.0.1", port: 1, healthy: false, workload: "a/x", mtlsMode: undefined },
    { ...endpoints[0], address: "10.0.0.1", port: 1, healthy: true, workload: "a/y", mtlsMode: undefined },
  ]
  const message = fromBinary(ClusterLoadAssignmentSchema, encoders.endpoints(V1, twice))
  expect(message.endpoints[0]?.lbEndpoints).toHaveLength(1)
  expect(message.endpoints[0]?.lbEndpoints[0]?.healthStatus).toBe(1)
})
