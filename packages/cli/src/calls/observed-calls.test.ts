// SPDX-License-Identifier: Apache-2.0
import type { CallRecord } from "@merlon/xclient"
import { describe, expect, it } from "vitest"
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

async function logged(accessLog: "json" | "text" | "off", ...records: readonly CallRecord[]): Promise<string[]> {
  let text = ""
  const out = {
    writableLength: 0,
    write: (chunk: string): boolean => {
      text += chunk
      return true
    },
  }
  const calls = new ObservedCalls({ accessLog, out })
  for (const record of records) calls.done(record)
  await calls.close()
  return text.split("\n").slice(0, -1)
}

describe("the access log", () => {
  it("tells calls from requests by their direction", async () => {
    const [line = ""] = await logged("json", CALL)
    expect(JSON.parse(line)).toEqual({
      time: expect.any(String),
      direction: "outbound",
      ...{ protocol: "http/1.1", destination: "web.app:80", transport: "mtls", workload: "app/web-1", requestId: "r" },
      ...{ method: "GET", host: "web", path: "/a", status: 200, bytesReceived: 1, bytesSent: 2, durationMs: 1.235 },
      retries: 0,
    })
  })

  it("has the id of a denial, and whose word it is", async () => {
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
