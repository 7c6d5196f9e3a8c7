// SPDX-License-Identifier: Apache-2.0
import type { ServiceEndpoint } from "@merlon/xds"
import { describe, expect, it } from "vitest"
import { EndpointHealth } from "../balance/endpoint-health.js"
import type { Call } from "../routes/call.js"
import { HostRouting } from "../routes/host-routing.js"
import { type TestDestination, TestMesh, WEB_HOST } from "../testing/mesh.js"
import { isComplete, routeView, sharesOf, watchLine } from "./route-view.js"

const mesh = new TestMesh()
const CALL: Call = { method: "GET", host: "web", target: "/", headers: new Map() }

const endpoint = (address: string, port: number): ServiceEndpoint => ({
  address,
  port,
  healthy: true,
  workload: "app/x",
  mtlsMode: undefined,
})

const routing = (...destinations: readonly TestDestination[]) =>
  new HostRouting({ ...mesh.routes(destinations), services: [] }, new EndpointHealth())

describe("a route", () => {
  it("is shown without empty parts, sorted by cluster, address and port", () => {
    const endpoints = [endpoint("10.0.0.2", 80), endpoint("10.0.0.1", 81), endpoint("10.0.0.1", 80)]
    const view = routeView(
      routing({ subset: "v2", weight: 0, endpoints: [] }, { subset: "", weight: 1, endpoints }),
      CALL,
    )
    expect(view).toEqual({
      host: WEB_HOST,
      port: 80,
      destinations: [
        { cluster: `outbound|80|v2|${WEB_HOST}`, host: WEB_HOST, subset: "v2", weight: 0 },
        {
          cluster: `outbound|80||${WEB_HOST}`,
          host: WEB_HOST,
          weight: 1,
          endpoints: [
            { address: "10.0.0.1", port: 80 },
            { address: "10.0.0.1", port: 81 },
            { address: "10.0.0.2", port: 80 },
          ],
        },
      ].sort((a, b) => (a.cluster < b.cluster ? -1 : 1)),
    })
  })

  it("reports endpoints with different modes, and nothing if none is enforced", () => {
    const spec = mesh.routes([{ subset: "", endpoints: [] }])
    const ports = [
      { port: 80, mtlsMode: "STRICT" as const, mixed: true },
      { port: 81, mtlsMode: undefined, mixed: false },
    ]
    const shown = routeView(new HostRouting({ ...spec, services: [{ host: "a", ports }] }, new EndpointHealth()), CALL)
    expect(shown.services).toEqual([
      { host: "a", ports: [{ port: 80, mtlsMode: "STRICT", mixed: true }, { port: 81 }] },
    ])
  })

  it("is one line for --watch", () => {
    const some = [endpoint("10.0.0.1", 80)]
    const shown = routing({ subset: "v2", weight: 9, endpoints: [] }, { subset: "v1", weight: 1, endpoints: some })
    expect(watchLine(shown, CALL)).toBe(`${WEB_HOST}:80 v1=1 endpoints=1,v2=9 endpoints=0`)
    expect(sharesOf(shown, CALL)).toEqual(
      new Map([
        ["v1", 1],
        ["v2", 9],
      ]),
    )
  })
})

describe("is complete", () => {
  const some = [endpoint("10.0.0.1", 80)]
  it.each<[string, readonly TestDestination[], boolean]>([
    ["with an endpoint for each destination", [{ subset: "v1", weight: 1, endpoints: some }], true],
    ["not while a destination with a weight has none", [{ subset: "v1", weight: 1, endpoints: [] }], false],
    [
      "although a drained destination has none",
      [
        { subset: "v1", weight: 1, endpoints: some },
        { subset: "v2", weight: 0, endpoints: [] },
      ],
      true,
    ],
    ["not if all are drained", [{ subset: "v1", weight: 0, endpoints: some }], false],
    ["not without destinations", [], false],
  ])("%s", (_, destinations, expected) => {
    expect(isComplete(routing(...destinations), CALL)).toBe(expected)
  })
})
