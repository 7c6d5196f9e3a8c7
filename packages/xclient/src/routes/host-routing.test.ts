// SPDX-License-Identifier: Apache-2.0
import { clusterName, type HostRoutesSpec, type ServiceEndpoint, type WeightedRoute } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { EndpointHealth } from "../balance/endpoint-health.js"
import { TestMesh, WEB_HOST } from "../testing/mesh.js"
import type { Call } from "./call.js"
import { HostRouting } from "./host-routing.js"

const mesh = new TestMesh()
const CALL: Call = { method: "GET", host: "web", target: "/", headers: new Map() }

function endpoint(address: string): ServiceEndpoint {
  return { address, port: 80, healthy: true, workload: `app/${address}`, mtlsMode: undefined }
}

const to = (subset: string, weight = 1) => ({ cluster: clusterName({ port: 80, subset, host: WEB_HOST }), weight })

function spec(routes: readonly WeightedRoute[], endpoints = [endpoint("a")]): HostRoutesSpec {
  return mesh.routes(
    ["v1", "v2", "v3"].map(subset => ({ subset, endpoints })),
    { routes },
  )
}

function picks(routing: HostRouting, count: number, call = CALL): string {
  return Array.from({ length: count }, () => routing.choose(call)?.name ?? "-").join(" ")
}

describe("routes", () => {
  it("are tried in order, and the first that takes the call routes it", () => {
    const routing = new HostRouting(
      spec([
        { match: [{ uri: { prefix: "/a" } }], destinations: [to("v1")] },
        { match: [{ uri: { prefix: "/a/b" } }], destinations: [to("v2")] },
        { match: [], destinations: [to("v3")] },
      ]),
      new EndpointHealth(),
    )
    expect(picks(routing, 1, { ...CALL, target: "/a/b" })).toBe("v1")
    expect(picks(routing, 1, { ...CALL, target: "/b" })).toBe("v3")
    expect(routing.destinationsFor({ ...CALL, target: "/a" })).toEqual([to("v1")])
  })

  it("are balanced independently", () => {
    const both = [to("v1"), to("v2")]
    const routing = new HostRouting(
      spec([
        { match: [{ method: { exact: "POST" } }], destinations: both },
        { match: [], destinations: both },
      ]),
      new EndpointHealth(),
    )
    picks(routing, 1)
    expect(picks(routing, 2, { ...CALL, method: "POST" })).toBe("v1 v2")
  })

  it("choose nothing if all destinations are drained", () => {
    const routing = new HostRouting(spec([{ match: [], destinations: [to("v1", 0)] }]), new EndpointHealth())
    expect(routing.choose(CALL)).toBeUndefined()
    expect(routing.chooseForBytes()).toBeUndefined()
  })

  it("take opaque bytes only if they match every request", () => {
    const routing = new HostRouting(
      spec([
        { match: [{ uri: { prefix: "/" } }], destinations: [to("v1")] },
        { match: [], destinations: [to("v2")] },
      ]),
      new EndpointHealth(),
    )
    expect(routing.chooseForBytes()?.name).toBe("v2")
  })
})

describe("an update", () => {
  const split = (first: number, second: number, endpoints?: ServiceEndpoint[]) =>
    spec([{ match: [], destinations: [to("v1", first), to("v2", second)] }], endpoints)

  it("of endpoints only keeps the balancing state", () => {
    const routing = new HostRouting(split(1, 1), new EndpointHealth())
    picks(routing, 1)
    routing.update(split(1, 1, [endpoint("a"), endpoint("b")]))
    expect(picks(routing, 3)).toBe("v2 v1 v2")
  })

  it("of weights applies from the next call on", () => {
    const routing = new HostRouting(split(100, 0), new EndpointHealth())
    picks(routing, 3)
    routing.update(split(0, 100))
    expect(picks(routing, 2)).toBe("v2 v2")
  })

  it("with an invalid pattern changes nothing", () => {
    const routing = new HostRouting(split(1, 0), new EndpointHealth())
    const bad = spec([{ match: [{ uri: { regex: "(" } }], destinations: [to("v2")] }])
    expect(() => routing.update(bad)).toThrow()
    expect(picks(routing, 1)).toBe("v1")
    expect(routing.spec).toEqual(split(1, 0))
  })
})

describe("a destination is named", () => {
  const named = (subset: string, host: string) => {
    const base = mesh.routes([
      { subset, endpoints: [], cluster: { host, name: clusterName({ port: 80, subset, host }) } },
    ])
    return new HostRouting(base, new EndpointHealth()).nameOf(clusterName({ port: 80, subset, host }))
  }
  it.each([
    ["v1", WEB_HOST, "v1"],
    ["", WEB_HOST, "web"],
    ["", "10.0.0.1", "10.0.0.1"],
  ])("by its subset, its Service or its address: `%s` of %s is %s", (subset, host, name) => {
    expect(named(subset, host)).toBe(name)
  })

  it("by its cluster if two would have the same name", () => {
    const clusters = ["a.app.svc.cluster.local", "b.app.svc.cluster.local"].map(host => ({
      subset: "v1",
      endpoints: [],
      cluster: { host, name: clusterName({ port: 80, subset: "v1", host }) },
    }))
    const routing = new HostRouting(mesh.routes(clusters), new EndpointHealth())
    const [first] = clusters.map(({ cluster }) => cluster.name)
    expect(routing.nameOf(first ?? "")).toBe(first)
  })
})
