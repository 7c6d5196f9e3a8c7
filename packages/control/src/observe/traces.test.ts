// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process"
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { promisify } from "node:util"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { NO_TRACER, startTracing, traced } from "./traces.js"

interface OtlpSpan {
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
  readonly status: { readonly code: number; readonly message?: string }
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly parentSpanId?: string
}
interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { readonly key: string; readonly value: object }[] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

let collector: Server
let received: { path: string; body: Export }[] = []
beforeEach(async () => {
  received = []
  collector = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
    })
    request.on("end", () => {
      received.push({ path: request.url ?? "", body: JSON.parse(text) as Export }) // the format of the protocol
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  collector.listen(0, "127.0.0.1")
  await once(collector, "listening")
})
afterEach(() => {
  collector.closeAllConnections()
  collector.close()
})
const endpoint = () => `http://127.0.0.1:${(collector.address() as AddressInfo).port}` // a TCP server has this form
const spans = () =>
  received.flatMap(({ body }) =>
    body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans)),
  )

const options = { service: "merlon-control", instance: "c-0", environment: {} }

describe("with a collector", () => {
  it("sends spans with their attributes and the service", async () => {
    const { tracer, stop } = await startTracing({ ...options, endpoint: `${endpoint()}/` })
    const span = tracer.start("change", { "mesh.proxies": 3 })
    span.set({ "mesh.revision": 9 })
    span.end()
    expect(await traced(tracer, "jwks.fetch", { "mesh.issuer": "https://idp" }, async () => 5)).toBe(5)
    const failing = traced(tracer, "sign", {}, () => Promise.reject(new Error("no\nkey")))
    await expect(failing).rejects.toThrow("no")
    await stop()
    expect(received.map(({ path }) => path)).toEqual(["/v1/traces"])
    expect(spans().map(({ name, status }) => [name, status.code, status.message])).toEqual([
      ["change", 0, undefined],
      ["jwks.fetch", 0, undefined],
      ["sign", 2, "no key"],
    ])
    expect(spans()[0]?.attributes).toEqual([
      { key: "mesh.proxies", value: { intValue: 3 } },
      { key: "mesh.revision", value: { intValue: 9 } },
    ])
    expect(spans().every(each => BigInt(each.endTimeUnixNano) >= BigInt(each.startTimeUnixNano))).toBe(true)
    expect(received[0]?.body.resourceSpans[0]?.resource.attributes).toContainEqual({
      key: "service.name",
      value: { stringValue: "merlon-control" },
    })
  })

  it("finds the collector by environment variables", async () => {
    const base = await startTracing({ ...options, environment: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint() } })
    base.tracer.start("a").end()
    await base.stop()
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint()}/here` }
    const exact = await startTracing({ ...options, environment: own })
    exact.tracer.start("b").end()
    await exact.stop()
    expect(received.map(({ path }) => path)).toEqual(["/v1/traces", "/here"])
  })
})

it("stops even if the collector is unreachable", async () => {
  const away = endpoint()
  collector.close()
  const { tracer, stop } = await startTracing({ ...options, endpoint: away })
  tracer.start("a").end()
  await stop()
})

describe("without a collector", () => {
  it("does nothing, and shares one span", async () => {
    const { tracer, stop } = await startTracing(options)
    expect(tracer).toBe(NO_TRACER)
    expect(tracer.start("a")).toBe(tracer.start("b"))
    expect(await traced(tracer, "a", {}, async () => 1)).toBe(1)
    await stop()
  })

  it("does not load OpenTelemetry", async () => {
    const script = `
      const { startTracing } = await import(${JSON.stringify(new URL("./traces.ts", import.meta.url).href)})
      await startTracing({ service: "s", instance: "i", environment: {} })
      const { createRequire } = await import("node:module")
      const loaded = Object.keys(createRequire(import.meta.url).cache).filter(path => path.includes("@opentelemetry"))
      console.log(loaded.length)
    `
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script])
    expect(stdout.trim()).toBe("0")
  })
})
