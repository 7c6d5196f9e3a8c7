// SPDX-License-Identifier: Apache-2.0
import type { CallRecord } from "@merlon/xclient"
import { MAX_DESTINATIONS } from "@merlon/xds"
import { AggregatorRegistry } from "prom-client"
import { describe, expect, it } from "vitest"
import { callSpan } from "./call-span.js"
import { CalledDestinations } from "./called-destinations.js"
import { ObservedCalls } from "./observed-calls.js"

const CALL: CallRecord = {
  ...{ protocol: "http/1.1", destination: "web.app:80", inMesh: true, transport: "mtls", workload: "app/web-1" },
  ...{ requestId: "r", method: "GET", host: "web", path: "/a", status: 200, bytesReceived: 1, bytesSent: 2 },
  ...{ durationMs: 1.23456, retries: 0, failure: undefined, reason: undefined },
  ...{ decisionId: undefined, traceId: undefined },
}
const DENIED: CallRecord = { ...CALL, status: 403, decisionId: "0123456789abcdef0123" }
const FAILED: CallRecord = { ...CALL, status: 503, failure: "unreachable", reason: "`web` accepts no connection" }
const PASSED: CallRecord = {
  ...CALL,
  ...{ protocol: "tcp", destination: "127.0.0.9:443", inMesh: false, transport: "passthrough", workload: undefined },
  ...{ requestId: undefined, method: "", host: "", path: "", status: 0 },
}

const OPTIONS = { mesh: "merlon", workload: { namespace: "app", name: "shop-1" } }

async function logged(accessLog: "json" | "text" | "off", ...records: readonly CallRecord[]): Promise<string[]> {
  let text = ""
  const out = {
    writableLength: 0,
    write: (chunk: string): boolean => {
      text += chunk
      return true
    },
  }
  const calls = new ObservedCalls({ ...OPTIONS, accessLog, out })
  for (const record of records) calls.done(record)
  await calls.close()
  return text.split("\n").slice(0, -1)
}

describe("the access log", () => {
  it("distinguishes calls from requests by direction", async () => {
    const [line = ""] = await logged("json", CALL)
    expect(JSON.parse(line)).toEqual({
      time: expect.any(String),
      direction: "outbound",
      ...{ protocol: "http/1.1", destination: "web.app:80", transport: "mtls", workload: "app/web-1", requestId: "r" },
      ...{ method: "GET", host: "web", path: "/a", status: 200, bytesReceived: 1, bytesSent: 2, durationMs: 1.235 },
      retries: 0,
    })
  })

  it("has the id of a denial and who assigned it", async () => {
    const [line = ""] = await logged("json", DENIED)
    expect(JSON.parse(line)).toMatchObject({ decisionId: "0123456789abcdef0123", decidedBy: "app/web-1" })
  })

  it("says why a call failed", async () => {
    const [line = ""] = await logged("json", FAILED)
    expect(JSON.parse(line)).toMatchObject({ failure: "unreachable", reason: "`web` accepts no connection" })
  })

  it("writes one line per call for people", async () => {
    const lines = await logged("text", CALL, DENIED, FAILED, PASSED)
    expect(lines.map(line => line.slice(line.indexOf(" ") + 1))).toEqual([
      "out   GET /a 200 1.2ms to web.app:80 (mtls)",
      "out   GET /a 403 1.2ms to web.app:80 (mtls) [0123456789abcdef0123]",
      "FAIL  GET /a 503 1.2ms to web.app:80 (mtls) (unreachable: `web` accepts no connection)",
      "out   tcp 1.2ms to 127.0.0.9:443 (passthrough)",
    ])
  })

  it("can be turned off", async () => {
    expect(await logged("off", CALL)).toEqual([])
  })
})

async function counted(...records: readonly CallRecord[]): Promise<readonly string[]> {
  const calls = new ObservedCalls({ ...OPTIONS, accessLog: "off" })
  for (const record of records) calls.done(record)
  const text = await AggregatorRegistry.aggregate([await calls.metrics()]).metrics()
  return text.split("\n").filter(line => line.startsWith("merlon_xclient_") && !line.includes("_bucket"))
}

describe("the metrics", () => {
  it("count requests, connections, bytes, durations and failures by destination", async () => {
    expect(await counted(CALL, DENIED, { ...FAILED, retries: 2 }, PASSED)).toEqual([
      'merlon_xclient_requests_total{destination="web.app:80",transport="mtls",code="2xx"} 1',
      'merlon_xclient_requests_total{destination="web.app:80",transport="mtls",code="4xx"} 1',
      'merlon_xclient_requests_total{destination="web.app:80",transport="mtls",code="5xx"} 1',
      'merlon_xclient_connections_total{destination="(outside)",transport="passthrough"} 1',
      'merlon_xclient_request_bytes_total{destination="web.app:80"} 3',
      'merlon_xclient_request_bytes_total{destination="(outside)"} 1',
      'merlon_xclient_response_bytes_total{destination="web.app:80"} 6',
      'merlon_xclient_response_bytes_total{destination="(outside)"} 2',
      'merlon_xclient_retries_total{destination="web.app:80"} 2',
      'merlon_xclient_failures_total{destination="web.app:80",reason="unreachable"} 1',
      expect.stringMatching(/^merlon_xclient_request_duration_seconds_sum\{transport="mtls"\} 0\.0037/),
      'merlon_xclient_request_duration_seconds_count{transport="mtls"} 3',
    ])
  })

  it("count ejected endpoints, and requests beyond a limit by their reason", async () => {
    const calls = new ObservedCalls({ ...OPTIONS, accessLog: "off" })
    calls.done({ ...FAILED, failure: "overflow" })
    for (const reason of ["consecutive-5xx", "consecutive-gateway", "consecutive-5xx"] as const)
      calls.ejected({ destination: "web.app:80", workload: "app/web", reason })
    const text = await AggregatorRegistry.aggregate([await calls.metrics()]).metrics()
    expect(text.split("\n")).toEqual(
      expect.arrayContaining([
        'merlon_xclient_failures_total{destination="web.app:80",reason="overflow"} 1',
        'merlon_xclient_ejections_total{destination="web.app:80",reason="consecutive-5xx"} 2',
        'merlon_xclient_ejections_total{destination="web.app:80",reason="consecutive-gateway"} 1',
      ]),
    )
  })

  it("are bounded, whatever the workload calls", async () => {
    const many = Array.from({ length: 500 }, (_, n) => [
      { ...CALL, destination: `web${n}.app:80` },
      { ...PASSED, destination: `127.0.0.1:${n + 1}` },
    ])
    const lines = await counted(...many.flat())
    expect(lines.filter(line => line.startsWith("merlon_xclient_requests_total"))).toHaveLength(101)
    expect(lines).toContain('merlon_xclient_requests_total{destination="(others)",transport="mtls",code="2xx"} 400')
    expect(lines).toContain('merlon_xclient_connections_total{destination="(outside)",transport="passthrough"} 500')
  })
})

describe("a span", () => {
  it("describes the call as a client, with the id of a denial", () => {
    expect(callSpan(DENIED, "merlon")).toMatchObject({
      ...{ kind: "client", name: "GET", failed: true },
      attributes: {
        ...{ "http.response.status_code": 403, "url.path": "/a", "error.type": "403" },
        ...{ "merlon.destination": "web.app:80", "merlon.transport": "mtls" },
        "merlon.decision_id": "0123456789abcdef0123",
      },
    })
    expect(callSpan(CALL, "merlon").failed).toBe(false)
    expect(callSpan(FAILED, "merlon").attributes["error.type"]).toBe("unreachable")
  })

  it("exists only if a collector is configured", async () => {
    const headers = { get: () => undefined }
    const traces = { url: "http://127.0.0.1:9/v1/traces", ratio: 0 }
    const calls = new ObservedCalls({ ...OPTIONS, accessLog: "off", traces })
    expect(calls.trace(headers)?.headers?.[0]?.[1]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    expect(new ObservedCalls({ ...OPTIONS, accessLog: "off" }).trace(headers)).toBeUndefined()
    await calls.close()
  })
})

describe("destinations", () => {
  it("are counted by transport, with the outcome of the last call", () => {
    let now = 1_000
    const destinations = new CalledDestinations(() => now++)
    for (const record of [CALL, DENIED, FAILED, PASSED]) destinations.add(record)
    expect(destinations.list()).toMatchObject([
      { destination: "127.0.0.9:443", inMesh: false, transport: "passthrough", count: 1, failures: 0 },
      {
        ...{ destination: "web.app:80", inMesh: true, transport: "mtls", workload: "app/web-1", count: 3, failures: 1 },
        ...{ lastStatus: 503, lastFailure: "unreachable", lastReason: "`web` accepts no connection" },
        ...{ lastDecision: "0123456789abcdef0123", firstSeen: 1_000 },
      },
    ])
  })

  it("are bounded, and the least recently called one is dropped", () => {
    let now = 0
    const destinations = new CalledDestinations(() => now++)
    for (let n = 0; n < 1_000; n++) {
      destinations.add({ ...CALL, destination: "kept:80" })
      destinations.add({ ...PASSED, destination: `127.0.0.1:${n}` })
    }
    const listed = destinations.list()
    expect(listed).toHaveLength(MAX_DESTINATIONS)
    expect(listed.find(({ destination }) => destination === "kept:80")?.count).toBe(1_000)
  })

  it("are never longer than the control plane accepts", () => {
    const destinations = new CalledDestinations()
    destinations.add({
      ...FAILED,
      destination: "x".repeat(70_000),
      workload: "y".repeat(9_000),
      reason: "z".repeat(9_000),
    })
    destinations.add({ ...PASSED, destination: "", transport: "none" })
    const lengths = destinations
      .list()
      .map(({ destination, workload = "", lastReason = "" }) =>
        [destination, workload, lastReason].map(one => one.length),
      )
    expect(lengths).toEqual(
      expect.arrayContaining([
        [300, 512, 500],
        ["(unknown)".length, 0, 0],
      ]),
    )
  })
})
