// SPDX-License-Identifier: Apache-2.0
// Spans of a real xserver process at a real collector, and the trace headers that the application receives.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { eventually } from "../../packages/wire/src/testing/eventually.js"
import { type Application, type Seen, startApplication } from "./support/application.js"
import { TraceCollector } from "./support/collector.js"
import { document, XserverProcess } from "./support/xserver.js"

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
const SPAN = "00f067aa0ba902b7"
const CLOSED = document("AuthorizationPolicy", "closed", {
  action: "DENY",
  rules: [{ to: [{ operation: { paths: ["/closed"] } }] }],
})

let application: Application
let collector: TraceCollector
let xserver: XserverProcess | undefined

beforeAll(async () => {
  application = await startApplication()
})
afterAll(() => application.close())
beforeEach(async () => {
  collector = await TraceCollector.start()
})
afterEach(async () => {
  await xserver?.remove()
  await collector.close()
})

async function start(...args: readonly string[]): Promise<XserverProcess> {
  xserver = await XserverProcess.start({ upstream: application.port, policies: [CLOSED], args })
  return xserver
}

async function call(path: string, headers: Record<string, string> = {}): Promise<Seen["headers"]> {
  const response = await fetch(`${xserver?.url}${path}`, { headers })
  return ((await response.json()) as Seen).headers // the response of our own application
}

const collected = (count: number) =>
  eventually(async () => collector.spans.length >= count, { what: `the collector has ${count} spans` })

describe("with a collector", () => {
  it("records a request as a span in its caller's trace, and propagates it to the application", async () => {
    await start("--traces", collector.url, "--trace-ratio", "0")
    const seen = await call("/anything?token=secret", {
      traceparent: `00-${TRACE}-${SPAN}-01`,
      tracestate: "vendor=1",
    })
    await collected(1)
    const [span] = collector.spans
    expect(span).toMatchObject({
      traceId: TRACE,
      parentSpanId: SPAN,
      traceState: "vendor=1",
      name: "GET",
      kind: 2,
      status: {},
      attributes: {
        "http.request.method": "GET",
        "http.response.status_code": "200",
        "url.path": "/anything",
        "server.port": "8080",
        "network.protocol.version": "1.1",
        "merlon.verdict": "allow",
      },
    })
    expect(seen.traceparent).toBe(`00-${TRACE}-${span?.spanId}-01`)
    expect(seen.tracestate).toBe("vendor=1")
    expect(BigInt(span?.endTimeUnixNano ?? 0)).toBeGreaterThan(BigInt(span?.startTimeUnixNano ?? 0))
    expect(JSON.stringify(collector.spans)).not.toContain("secret")
    expect(collector.resources[0]).toMatchObject({ "service.name": "httpbin-1", "service.namespace": "foo" })
    expect(collector.paths).toEqual(["/v1/traces"])
    await eventually(async () => xserver?.stdout.includes(TRACE) === true, { what: "the access log has the trace" })
  })

  it("records a denial with the policy that denied, and a failure as a failure", async () => {
    await start("--traces", collector.url, "--trace-ratio", "1")
    expect((await fetch(`${xserver?.url}/closed`)).status).toBe(403)
    await call("/status/500")
    await collected(2)
    const denied = collector.spans.find(({ attributes }) => attributes["url.path"] === "/closed")
    expect(denied).toMatchObject({
      status: {},
      attributes: { "http.response.status_code": "403", "merlon.verdict": "deny", "merlon.policy": "foo/closed" },
    })
    expect(denied?.attributes["merlon.decision_id"]).toMatch(/^[0-9a-f]{20}$/)
    const failed = collector.spans.find(({ attributes }) => attributes["url.path"] === "/status/500")
    expect(failed).toMatchObject({ status: { code: 2 }, attributes: { "error.type": "500" } })
  })

  it("begins a new trace if the caller's cannot be read, and forwards nothing of it", async () => {
    await start("--traces", collector.url, "--trace-ratio", "1")
    const seen = await call("/anything", { traceparent: `00-${TRACE}-${SPAN}-0x`, tracestate: "vendor=1" })
    await collected(1)
    const [span] = collector.spans
    expect(span?.traceId).not.toBe(TRACE)
    expect(span?.parentSpanId).toBeUndefined()
    expect(seen.traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`)
    expect(seen.tracestate).toBeUndefined()
  })

  it("records no trace that its caller does not record, and no more than its share", async () => {
    const process = await start("--traces", collector.url, "--trace-ratio", "0")
    const parent = `00-${TRACE}-${SPAN}-00`
    expect((await call("/anything", { traceparent: parent, tracestate: "vendor=1" })).traceparent).toBe(parent)
    expect((await call("/anything", { traceparent: parent, tracestate: "broken" })).tracestate).toBeUndefined()
    expect((await call("/anything")).traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    // The shutdown sends whatever was queued.
    process.signal("SIGTERM")
    expect(await process.exit()).toBe(0)
    expect(collector.spans).toEqual([])
  })

  it("serves while the collector rejects spans, and counts those that are lost", async () => {
    const process = await start("--traces", collector.url, "--trace-ratio", "1")
    collector.status = 400
    await call("/anything")
    await eventually(async () => /^merlon_xserver_spans_dropped_total 1$/m.test(await process.metrics()), {
      what: "one span is dropped",
    })
    collector.status = 200
    await call("/anything")
    await collected(1)
    await eventually(async () => /^merlon_xserver_spans_exported_total 1$/m.test(await process.metrics()), {
      what: "one span is exported",
    })
  })

  it("sends from every worker", async () => {
    const process = await start("--traces", collector.url, "--trace-ratio", "1", "--workers", "2")
    for (let i = 0; i < 20; i++) await call("/anything")
    await collected(20)
    expect(await process.metrics()).toMatch(/^merlon_xserver_spans_exported_total \d+$/m)
  })
})

it("reads and changes nothing without a collector", async () => {
  const process = await start()
  const seen = await call("/anything", { traceparent: "broken", tracestate: "as it=is" })
  expect([seen.traceparent, seen.tracestate]).toEqual(["broken", "as it=is"])
  expect(await process.metrics()).not.toContain("spans_")
})

it("reports an invalid collector address or share", async () => {
  const wrong = async (...args: readonly string[]): Promise<string> => {
    xserver = await XserverProcess.create({ upstream: application.port, args })
    xserver.launch()
    expect(await xserver.exit()).not.toBe(0)
    const { stderr } = xserver
    await xserver.remove()
    return stderr
  }
  expect(await wrong("--traces", "grpc://collector:4317")).toContain("must begin with http:// or https://")
  expect(await wrong("--traces", "http://a:b@collector")).toContain("must not contain a password")
  expect(await wrong("--trace-ratio", "5")).toContain("must be from 0 to 1")
})
