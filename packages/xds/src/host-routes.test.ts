// SPDX-License-Identifier: Apache-2.0
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { HostRoutesSchema } from "./generated/merlon/mesh/v1/mesh_pb.js"
import { decodeHostRoutes, encodeHostRoutes, type HostRoutesSpec } from "./host-routes.js"
import { MalformedResource } from "./malformed-resource.js"

const V1 = "outbound|80|v1|web.app.svc.cluster.local"

const GOOD: HostRoutesSpec = {
  table: {
    host: "web.app.svc.cluster.local",
    port: 80,
    aliases: ["web", "web.app"],
    routes: [
      {
        match: [
          { uri: { prefix: "/v2" }, headers: { "x-user": { regex: "a.*" } }, queryParams: { q: { exact: "1" } } },
        ],
        destinations: [{ cluster: V1, weight: 0 }],
      },
      { match: [], destinations: [{ cluster: V1, weight: 100 }] },
    ],
  },
  clusters: [
    {
      name: V1,
      host: "web.app.svc.cluster.local",
      port: 80,
      subset: "v1",
      tlsMode: "DUBBO_MUTUAL",
      sni: "web.app.svc.cluster.local",
      identities: ["spiffe://cluster.local/ns/app/sa/web"],
      endpoints: [{ address: "10.0.0.1", port: 15_080, healthy: true, workload: "app/web-1", mtlsMode: "STRICT" }],
    },
  ],
  services: [{ host: "web.app.svc.cluster.local", ports: [{ port: 80, mtlsMode: "STRICT", mixed: false }] }],
  trust: { bundle: "PEM", signer: "ab", revokedIdentities: [], revokedSerials: ["0A"] },
}

function encodedJson(value: unknown): Uint8Array {
  return toBinary(HostRoutesSchema, create(HostRoutesSchema, { routes: JSON.stringify(value) }))
}

it("decodes to what was encoded", () => {
  expect(decodeHostRoutes(encodeHostRoutes(GOOD))).toEqual(GOOD)
})

describe("a traffic setting", () => {
  const [cluster] = GOOD.clusters
  const [first, last] = GOOD.table.routes
  const retries = { attempts: 2, perTryTimeoutMs: 250, retryOn: ["reset", "503"], nonIdempotent: false }
  const traffic = {
    loadBalancer: "RANDOM",
    connectionPool: { maxConnections: 1, maxRequests: 2, idleTimeoutMs: 3 },
    outlierDetection: { consecutive5xxErrors: 3 },
  }
  const routes = [first, { ...last, timeoutMs: 5_000, retries }]
  const spec = {
    ...GOOD,
    table: { ...GOOD.table, routes },
    clusters: [{ ...cluster, traffic }],
  } as HostRoutesSpec

  it("is decoded with its route and its destination", () => {
    expect(decodeHostRoutes(encodeHostRoutes(spec))).toEqual(spec)
  })

  it("is omitted for a reader of an older version", () => {
    const { routes: json } = fromBinary(HostRoutesSchema, encodeHostRoutes(spec))
    expect(decodeHostRoutes(encodedJson(JSON.parse(json)))).toEqual(GOOD)
  })

  it.each([
    ["a timeout above the limit", { routes: [{ timeoutMs: 3_600_001 }], clusters: {} }],
    ["retries above the limit", { routes: [{ retries: { ...retries, attempts: 11 } }], clusters: {} }],
    ["no connections", { routes: [], clusters: { [V1]: { connectionPool: { maxConnections: 0 } } } }],
    [
      "an ejection time above the limit",
      { routes: [], clusters: { [V1]: { outlierDetection: { baseEjectionMs: 3_600_001 } } } },
    ],
    ["an unknown balancer", { routes: [], clusters: { [V1]: { loadBalancer: "HASH" } } }],
  ])("is rejected with %s", (_, received) => {
    const { routes: json } = fromBinary(HostRoutesSchema, encodeHostRoutes(GOOD))
    const bytes = toBinary(
      HostRoutesSchema,
      create(HostRoutesSchema, { routes: json, traffic: JSON.stringify(received) }),
    )
    expect(() => decodeHostRoutes(bytes)).toThrow(MalformedResource)
  })
})

describe("an endpoint with several addresses", () => {
  const [cluster] = GOOD.clusters
  const endpoint = { port: 15_080, healthy: true, workload: "app/web-1", mtlsMode: "STRICT" } as const
  const both = { ...endpoint, address: "10.0.0.1", otherAddresses: ["fd00::1"] }
  const spec = { ...GOOD, clusters: [{ ...cluster, endpoints: [both] }] } as HostRoutesSpec

  it("is decoded with all of them", () => {
    expect(decodeHostRoutes(encodeHostRoutes(spec))).toEqual(spec)
  })

  it("has only the first for an older reader", () => {
    const { routes } = fromBinary(HostRoutesSchema, encodeHostRoutes(spec))
    expect(decodeHostRoutes(encodedJson(JSON.parse(routes)))).toEqual(GOOD)
  })

  it("is rejected if the others are not lists", () => {
    const { routes } = fromBinary(HostRoutesSchema, encodeHostRoutes(spec))
    const bytes = toBinary(HostRoutesSchema, create(HostRoutesSchema, { routes, otherAddresses: '{"10.0.0.1":"x"}' }))
    expect(() => decodeHostRoutes(bytes)).toThrow(MalformedResource)
  })
})

it("distinguishes absent fields from set ones", () => {
  const [cluster] = GOOD.clusters
  const plain = { ...GOOD, clusters: [{ ...cluster, tlsMode: undefined }] }
  expect(decodeHostRoutes(encodedJson(plain)).clusters[0]?.tlsMode).toBeUndefined()
})

describe("rejects", () => {
  const withTable = (change: object) => ({ ...GOOD, table: { ...GOOD.table, ...change } })
  const withCluster = (change: object) => ({ ...GOOD, clusters: [{ ...GOOD.clusters[0], ...change }] })
  it.each<[string, unknown, RegExp]>([
    ["a value that is not a mapping", [], /must be a mapping/],
    ["a missing part", { ...GOOD, trust: undefined }, /trust: must be a mapping; it is missing/],
    ["an unknown field", { ...GOOD, more: 1 }, /more: unknown field/],
    [
      "an unknown condition, which would widen the route",
      withTable({ routes: [{ match: [{ sourceIp: "10.0.0.1" }], destinations: [] }] }),
      /table.routes\[0\].match\[0\].sourceIp: unknown field/,
    ],
    [
      "a destination without a cluster",
      withTable({ routes: [{ match: [], destinations: [{ cluster: "outbound|80||x", weight: 1 }] }] }),
      /`outbound\|80\|\|x` is not among the clusters/,
    ],
    [
      "a negative weight",
      withTable({ routes: [{ match: [], destinations: [{ cluster: V1, weight: -1 }] }] }),
      /weight: must be a whole number/,
    ],
    ["an unknown mode", withCluster({ tlsMode: "MUTUAL" }), /tlsMode: must be one of DISABLE, DUBBO_MUTUAL/],
    ["an invalid port", withCluster({ endpoints: [{ ...GOOD.clusters[0]?.endpoints[0], port: 0 }] }), /port/],
    [
      "two clusters with the same name",
      { ...GOOD, clusters: [GOOD.clusters[0], GOOD.clusters[0]] },
      /two have the same name/,
    ],
  ])("%s", (_, value, message) => {
    expect(() => decodeHostRoutes(encodedJson(value))).toThrow(message)
  })
})

describe("any input", () => {
  it("decodes any bytes to routes or a malformed error", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), bytes => isRoutesOrMalformed(bytes)))
  })

  it("decodes a valid message with one value replaced to routes or a malformed error", () => {
    const paths = pathsIn(GOOD)
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.jsonValue(), (path, value) =>
        isRoutesOrMalformed(encodedJson(replaced(GOOD, path, value))),
      ),
    )
  })
})

function isRoutesOrMalformed(bytes: Uint8Array): boolean {
  try {
    const spec = decodeHostRoutes(bytes)
    return decodeHostRoutes(encodeHostRoutes(spec)).table.port === spec.table.port
  } catch (error) {
    return error instanceof MalformedResource
  }
}

function pathsIn(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [[]]
  return [[], ...Object.entries(value).flatMap(([key, item]) => pathsIn(item).map(path => [key, ...path]))]
}

function replaced(tree: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value
  if (Array.isArray(tree))
    return tree.map((item, index) => (String(index) === key ? replaced(item, rest, value) : item))
  const object = Object.entries(tree as object) // paths contain only mappings and lists
  return Object.fromEntries(object.map(([name, item]) => [name, name === key ? replaced(item, rest, value) : item]))
}
