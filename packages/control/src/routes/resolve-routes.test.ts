// SPDX-License-Identifier: Apache-2.0
import type { MeshService } from "@merlon/policy/resources"
import type { WeightedRoute } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { MeshServiceIndex } from "./mesh-service-index.js"
import { resolveRoutes } from "./resolve-routes.js"
import { MemoryDirectory } from "./testing/memory-directory.js"
import { CLUSTER_DOMAIN, MESH, meshService, SCOPE, service } from "./testing/mesh.js"

const WEB = "web.app.svc.cluster.local"
const v1 = { host: "web", name: "v1", labels: { version: "v1" } }
const v2 = { host: "web", name: "v2", labels: { version: "v2" } }
const V1 = `outbound|80|v1|${WEB}`
const V2 = `outbound|80|v2|${WEB}`
const OWN = `outbound|80||${WEB}`
const canary = { headers: { "x-canary": { exact: "true" } } }

function directory() {
  const known = new MemoryDirectory()
  known.setService(
    service("web", {
      ports: [
        { port: 80, name: "http" },
        { port: 81, name: "admin" },
      ],
    }),
  )
  known.setService(service("web-v2"))
  known.setService(service("web", { namespace: "shop" }))
  return known
}

function tableOf(documents: readonly MeshService[], host = WEB, port = 80, caller = "app") {
  return resolveRoutes({ host, port }, caller, {
    meshServices: new MeshServiceIndex(SCOPE, documents),
    directory: directory(),
    mesh: MESH,
    modeOf: () => "STRICT",
    clusterDomain: CLUSTER_DOMAIN,
  })
}

function routesOf(spec: object, port = 80): readonly WeightedRoute[] | undefined {
  return tableOf([meshService("web", { hosts: ["web"], ...spec })], WEB, port)?.routes
}

const to = (...destinations: readonly object[]) => [{ service: destinations }]
const all = (cluster: string, weight = 100) => ({ match: [], destinations: [{ cluster, weight }] })

describe("a host without MeshService", () => {
  it("is routed to its Service", () => {
    expect(tableOf([])).toEqual({
      host: WEB,
      port: 80,
      aliases: ["web", "web.app", "web.app.svc"],
      routes: [all(OWN)],
    })
  })

  it("has no table at a port that the Service lacks", () => {
    expect(tableOf([], WEB, 82)).toBeUndefined()
  })

  it("has no table without a Service", () => {
    expect(tableOf([], "none.app.svc.cluster.local")).toBeUndefined()
  })
})

describe("timeouts and retries", () => {
  const retries = { attempts: 3, perTryTimeout: "250ms", retryOn: "503, reset" }

  it("apply to the host's default route if the MeshService has no other", () => {
    expect(routesOf({ timeout: "1.5s", retries })).toEqual([
      {
        ...all(OWN),
        timeoutMs: 1_500,
        retries: { attempts: 3, perTryTimeoutMs: 250, retryOn: ["503", "reset"], nonIdempotent: false },
      },
    ])
  })

  it("of a rule override those of the document, and `0s` means no timeout", () => {
    const rules = [
      { match: [canary], route: to(v2), timeout: "0s" },
      { match: [{ uri: { exact: "/" } }], route: to(v1), timeout: "2s" },
    ]
    const routes = routesOf({ rules, routes: to(v1), timeout: "5s" })
    expect(routes?.map(({ timeoutMs }) => timeoutMs)).toEqual([undefined, 2_000, 5_000])
  })
})

describe("a MeshService governs the host in any spelling", () => {
  it.each(["web", "web.app", "web.app.svc", WEB, "WEB.app"])("%s", host => {
    expect(tableOf([meshService("m", { hosts: [host], routes: to(v1) })])?.routes).toEqual([all(V1)])
  })

  it("from another namespace, by a name with a dot, for its own callers", () => {
    const document = meshService(
      "m",
      { hosts: ["web.app"], routes: to({ ...v1, host: "web.app" }) },
      { namespace: "x" },
    )
    expect(tableOf([document], WEB, 80, "x")?.routes).toEqual([all(`${V1}|x`)])
    expect(tableOf([document])?.routes).toEqual([all(OWN)])
  })

  it("but not a host of another namespace by a name without a dot", () => {
    const document = meshService("m", { hosts: ["web"], routes: to(v1) }, { namespace: "shop" })
    expect(tableOf([document])?.routes).toEqual([all(OWN)])
  })

  it("also if no Service has that name", () => {
    const document = meshService("m", { hosts: ["front"], routes: to({ host: "web" }) })
    expect(tableOf([document], "front.app.svc.cluster.local")?.routes).toEqual([all(OWN)])
  })
})

describe("of several MeshServices for one host", () => {
  const older = meshService("z", { hosts: ["web"], routes: to(v1) }, { created: "2026-01-01T00:00:00Z" })
  const newer = meshService("a", { hosts: ["web.app"], routes: to(v2) }, { created: "2026-01-02T00:00:00Z" })

  it.each([
    ["oldest first", [older, newer]],
    ["newest first", [newer, older]],
  ])("the oldest routes it, listed %s", (_, documents) => {
    expect(tableOf(documents)?.routes).toEqual([all(V1)])
  })

  it("the one in the Service's namespace routes it, even if another is older", () => {
    const foreign = meshService(
      "m",
      { hosts: ["web.app"], routes: to({ host: "web.app", name: "v2", labels: { version: "v2" } }) },
      { created: "2025-01-01T00:00:00Z", namespace: "elsewhere" },
    )
    expect(new MeshServiceIndex(SCOPE, [foreign, newer]).governing(WEB, "app")).toBe(newer)
  })

  it("the next one takes over when the oldest is deleted", () => {
    const index = new MeshServiceIndex(SCOPE, [older, newer])
    expect([...index.set("app/z", undefined)]).toEqual([WEB])
    expect(index.governing(WEB, "app")).toBe(newer)
  })
})

describe("routes", () => {
  const cases: readonly [string, object, readonly WeightedRoute[]][] = [
    ["go to the host itself if the MeshService only names hosts", {}, [all(OWN)]],
    [
      "keep weights as shares",
      { routes: to({ ...v1, weight: 90 }, { ...v2, weight: 10 }) },
      [
        {
          match: [],
          destinations: [
            { cluster: V1, weight: 90 },
            { cluster: V2, weight: 10 },
          ],
        },
      ],
    ],
    [
      "keep a weight of 0, which drains",
      { routes: to({ ...v1, weight: 100 }, { ...v2, weight: 0 }) },
      [
        {
          match: [],
          destinations: [
            { cluster: V1, weight: 100 },
            { cluster: V2, weight: 0 },
          ],
        },
      ],
    ],
    [
      "split equally without weights",
      { routes: to(v1, v2) },
      [
        {
          match: [],
          destinations: [
            { cluster: V1, weight: 1 },
            { cluster: V2, weight: 1 },
          ],
        },
      ],
    ],
    [
      "of several entries form one split with one share per cluster",
      {
        routes: [
          { service: [{ ...v1, weight: 30 }] },
          {
            service: [
              { ...v2, weight: 50 },
              { ...v1, weight: 20 },
            ],
          },
        ],
      },
      [
        {
          match: [],
          destinations: [
            { cluster: V1, weight: 50 },
            { cluster: V2, weight: 50 },
          ],
        },
      ],
    ],
    [
      "are tried in order, those without a match last",
      {
        rules: [
          { match: [canary], route: to(v2), routes: to(v1) },
          { match: [{ uri: { prefix: "/b" } }], route: to({ host: "web-v2" }) },
        ],
        routes: to({ host: "web" }),
      },
      [
        { match: [canary], destinations: [{ cluster: V2, weight: 100 }] },
        {
          match: [{ uri: { prefix: "/b" } }],
          destinations: [{ cluster: "outbound|80||web-v2.app.svc.cluster.local", weight: 100 }],
        },
        all(V1),
      ],
    ],
    [
      "end at the first rule without match",
      { rules: [{ route: to(v1) }, { match: [canary], route: to(v2) }], routes: to(v2) },
      [all(V1)],
    ],
    [
      "leave out a match without a destination",
      { rules: [{ match: [canary], routes: to(v1) }], routes: to(v2) },
      [all(V1)],
    ],
    [
      "have no default destination if none is given",
      { rules: [{ match: [canary], route: to(v1) }] },
      [{ match: [canary], destinations: [{ cluster: V1, weight: 100 }] }],
    ],
    [
      "match every request with an empty alternative",
      { rules: [{ match: [canary, {}], route: to(v1) }], routes: to(v2) },
      [all(V1)],
    ],
    [
      "resolve the port of a match",
      {
        rules: [
          { match: [{ port: 81 }], route: to(v2) },
          { match: [{ ...canary, port: 80 }, { port: 81 }], route: to(v2) },
          { match: [{ port: 80 }], route: to(v1) },
        ],
      },
      [{ match: [canary], destinations: [{ cluster: V2, weight: 100 }] }, all(V1)],
    ],
    ["call another port by number", { routes: to({ ...v1, port: { number: 81 } }) }, [all(`outbound|81|v1|${WEB}`)]],
    ["call another port by name", { routes: to({ ...v1, port: { name: "admin" } }) }, [all(`outbound|81|v1|${WEB}`)]],
    [
      "have no destination for a port name that the Service lacks",
      { routes: to({ ...v1, port: { name: "nope" } }) },
      [all(`outbound|0|v1|${WEB}`)],
    ],
    [
      "use `name` without labels as the Service to call",
      { routes: to({ host: "web", name: "web-v2" }) },
      [all("outbound|80||web-v2.app.svc.cluster.local")],
    ],
    [
      "reach a Service of another namespace",
      { routes: to({ host: "web.shop" }) },
      [all("outbound|80||web.shop.svc.cluster.local|app")],
    ],
    [
      "use two labels as an external name if there is no such Service",
      { routes: to({ host: "a.com" }) },
      [all("outbound|80||a.com|app")],
    ],
    ["reach an address", { routes: to({ host: "10.1.2.3" }) }, [all("outbound|80||10.1.2.3|app")]],
  ]
  it.each(cases)("%s", (_, spec, routes) => {
    expect(routesOf(spec)).toEqual(routes)
  })
})
