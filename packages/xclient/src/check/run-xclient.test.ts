// SPDX-License-Identifier: Apache-2.0
// The whole tool, with a real ADS stream, real certificates and real servers.

import { readBootstrap } from "@merlon/xds/member"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { TestControlPlane } from "../testing/control-plane.js"
import { TestMesh, type TestServer, WEB_HOST } from "../testing/mesh.js"
import { parseExpectation } from "./expectation.js"
import { runXclient, type XclientOptions } from "./run-xclient.js"

const SILENT = { info() {}, warn() {}, error() {} }

let mesh: TestMesh
let control: TestControlPlane
let v1: TestServer
let v2: TestServer

beforeEach(async () => {
  mesh = new TestMesh()
  control = new TestControlPlane(mesh)
  await control.start()
  v1 = await mesh.server("v1")
  v2 = await mesh.server("v2")
})
afterEach(async () => {
  await control.close()
  await mesh.close()
})

const split = (first: number, second: number) =>
  mesh.routes([
    { subset: "v1", weight: first, endpoints: [v1.endpoint], cluster: { tlsMode: "DUBBO_MUTUAL" } },
    { subset: "v2", weight: second, endpoints: [v2.endpoint], cluster: { tlsMode: "DUBBO_MUTUAL" } },
  ])

function xclient(options: Partial<XclientOptions> = {}, signal = new AbortController().signal) {
  const out: string[] = []
  const err: string[] = []
  const code = runXclient(
    {
      bootstrap: readBootstrap(control.bootstrap, {}),
      log: SILENT,
      target: { host: "web", port: 80 },
      action: "send",
      expected: undefined,
      requests: 20,
      method: "GET",
      path: "/",
      headers: new Map(),
      requestIntervalMs: 0,
      requestTimeoutMs: 60_000,
      waitTimeoutMs: 60_000,
      output: "text",
      ...options,
    },
    { out: line => out.push(line), err: line => err.push(line), signal },
  )
  return { out, err, code }
}

describe("--print-route", () => {
  it("prints the route as JSON, sorted and without empty parts", async () => {
    control.set("web:80", split(50, 50))
    const { out, code } = xclient({ action: "print-route" })
    expect(await code).toBe(0)
    expect(out).toEqual([
      JSON.stringify(
        {
          host: WEB_HOST,
          port: 80,
          destinations: [v1, v2].map(({ endpoint: { address, port } }, index) => ({
            cluster: `outbound|80|v${index + 1}|${WEB_HOST}`,
            host: WEB_HOST,
            subset: `v${index + 1}`,
            weight: 50,
            tlsMode: "DUBBO_MUTUAL",
            sni: WEB_HOST,
            endpoints: [{ address, port }],
          })),
          services: [{ host: WEB_HOST, ports: [{ port: 80, mtlsMode: "STRICT" }] }],
        },
        undefined,
        2,
      ),
    ])
  })

  it("waits until the weights are as expected", async () => {
    control.set("web:80", split(100, 0))
    const { out, code } = xclient({ action: "print-route", expected: parseExpectation("v1=50,v2=50") })
    await expect.poll(() => control.signed).toBe(1)
    control.set("web:80", split(50, 50))
    expect(await code).toBe(0)
    expect(JSON.parse(out[0] ?? "").destinations).toHaveLength(2)
  })

  it("reports weights that differ from the expected ones", async () => {
    control.set("web:80", split(100, 0))
    const enough = new AbortController()
    const { out, err, code } = xclient(
      { action: "print-route", expected: parseExpectation("v1=50,v2=50") },
      enough.signal,
    )
    await expect.poll(() => control.acknowledged).toBe(1)
    enough.abort()
    expect(await code).toBe(1)
    expect(out).toEqual([])
    expect(err).toEqual(["route weights map[v1:100 v2:0] did not match expected map[v1:50 v2:50]"])
  })

  it("reports that there is no such route", async () => {
    const enough = new AbortController()
    const { err, code } = xclient({ action: "print-route", target: { host: "none", port: 81 } }, enough.signal)
    await expect.poll(() => control.acknowledged).toBe(1)
    enough.abort()
    expect(await code).toBe(1)
    expect(err[0]).toBe("route not found for none:81 from ADS stream")
    expect(err[1]).toMatch(/no Service and no MeshService/)
  })

  it("reports why the control plane cannot be reached", async () => {
    await control.stop()
    let err: readonly string[] = []
    // On a busy machine the wait may end before the first attempt has failed.
    for (let waitTimeoutMs = 1_000; err.length < 2; waitTimeoutMs *= 2) {
      const tried = xclient({ action: "print-route", waitTimeoutMs })
      expect(await tried.code).toBe(1)
      err = tried.err
    }
    expect(err[0]).toBe("route not found for web:80 from ADS stream")
    expect(err[1]).toMatch(/cannot get a certificate/)
  })
})

describe("requests", () => {
  it("are split exactly, with one line per destination", async () => {
    control.set("web:80", split(50, 50))
    const { out, err, code } = xclient({ expected: parseExpectation("v1=50,v2=50") })
    expect(await code).toBe(0)
    expect(out).toEqual(["v1 10 50%", "v2 10 50%"])
    expect(err).toEqual([])
  })

  it("follow a change of weights on the same stream", async () => {
    control.set("web:80", split(100, 0))
    const { out, code } = xclient({ requests: 40, requestIntervalMs: 20 })
    await expect.poll(() => v1.seen.length).toBeGreaterThan(2)
    control.set("web:80", split(0, 100))
    expect(await code).toBe(0)
    expect(v1.seen.length + v2.seen.length).toBe(40)
    expect(v2.seen.length).toBeGreaterThan(0)
    expect(out).toHaveLength(2)
  })

  it("that are denied count as answered, and fail the check with the reason", async () => {
    const denied = await mesh.server("v1", {
      answer: (_, response) => response.writeHead(403).end("RBAC: access denied"),
    })
    control.set("web:80", mesh.routes([{ subset: "v1", endpoints: [denied.endpoint] }]))
    const { out, err, code } = xclient({ requests: 3 })
    expect(await code).toBe(1)
    expect(out).toEqual(["v1 3 100%"])
    expect(err).toEqual(["3 of 3 requests failed", "  3 × `v1` answered 403: RBAC: access denied"])
  })

  it("to a server with another identity fail, grouped by reason", async () => {
    const other = await mesh.server("v1", { identity: "spiffe://cluster.local/ns/app/sa/other" })
    control.set("web:80", mesh.routes([{ subset: "v1", endpoints: [other.endpoint] }]))
    const { out, err, code } = xclient({ requests: 2 })
    expect(await code).toBe(1)
    expect(out).toEqual(["v1 0 0%"])
    expect(err.join("\n")).toMatch(/expected `.*sa\/web`/)
    expect(other.seen).toEqual([])
  })

  it("that are never answered fail in time", async () => {
    const silent = await mesh.server("v1", { answer: () => undefined })
    control.set("web:80", mesh.routes([{ subset: "v1", endpoints: [silent.endpoint] }]))
    const { err, code } = xclient({ requests: 1, requestTimeoutMs: 100 })
    expect(await code).toBe(1)
    expect(err[1]).toBe("  1 × no response within 100 ms")
  })

  it("are routed by path and headers", async () => {
    const spec = split(100, 100)
    const [first = "", second = ""] = spec.clusters.map(({ name }) => name)
    const routes = [
      { match: [{ headers: { "x-version": { exact: "2" } } }], destinations: [{ cluster: second, weight: 1 }] },
      { match: [], destinations: [{ cluster: first, weight: 1 }] },
    ]
    control.set("web:80", { ...spec, table: { ...spec.table, routes } })
    const { out, code } = xclient({ requests: 2, headers: new Map([["x-version", "2"]]), path: "/a?b" })
    expect(await code).toBe(0)
    expect(out).toEqual(["v2 2 100%"])
    expect(v2.seen[0]).toMatchObject({ url: "/a?b", headers: { "x-version": "2", host: "web" } })
  })

  it("are reported as JSON", async () => {
    control.set("web:80", split(3, 1))
    const { out, code } = xclient({ requests: 4, output: "json", expected: parseExpectation("v1=75,v2=25") })
    expect(await code).toBe(0)
    expect(JSON.parse(out.join("\n"))).toEqual({
      host: WEB_HOST,
      port: 80,
      requests: 4,
      failed: 0,
      destinations: [
        { name: "v1", answered: 3, share: 75, statuses: { 200: 3 } },
        { name: "v2", answered: 1, share: 25, statuses: { 200: 1 } },
      ],
      failures: [],
      expected: { v1: 75, v2: 25 },
      asExpected: true,
    })
  })
})

it("--watch prints a line for each state of the route until it is stopped", async () => {
  control.set("web:80", split(100, 0))
  const stop = new AbortController()
  const { out, code } = xclient({ action: "watch" }, stop.signal)
  await expect.poll(() => out.length).toBe(1)
  control.set("web:80", split(50, 50))
  await expect.poll(() => out.length).toBe(2)
  control.set("web:80", undefined)
  await expect.poll(() => out.length).toBe(3)
  stop.abort()
  expect(await code).toBe(0)
  expect(out).toEqual([
    `${WEB_HOST}:80 v1=100 endpoints=1,v2=0 endpoints=1`,
    `${WEB_HOST}:80 v1=50 endpoints=1,v2=50 endpoints=1`,
    "web:80 route not found",
  ])
})

it("a check that is stopped halfway fails, even if all requests succeeded so far", async () => {
  control.set("web:80", split(50, 50))
  const stop = new AbortController()
  const expected = parseExpectation("v1=50,v2=50")
  const { err, code } = xclient({ requests: 1_000, requestIntervalMs: 60_000, expected }, stop.signal)
  await expect.poll(() => v1.seen.length + v2.seen.length).toBe(1)
  stop.abort()
  expect(await code).toBe(1)
  expect(err).toContain("stopped before all requests were sent")
})

it("a check that is stopped while it waits fails at once", async () => {
  await control.stop()
  // Longer than a test may last.
  const options = { expected: parseExpectation("v1=1"), waitTimeoutMs: 3_600_000 }
  expect(await xclient(options, AbortSignal.abort()).code).toBe(1)
  const stop = new AbortController()
  const { code } = xclient(options, stop.signal)
  setImmediate(() => stop.abort())
  expect(await code).toBe(1)
})

it("a second run uses the certificate of the first", async () => {
  control.set("web:80", split(50, 50))
  expect(await xclient({ requests: 2 }).code).toBe(0)
  expect(await xclient({ requests: 2 }).code).toBe(0)
  expect(control.signed).toBe(1)
})
