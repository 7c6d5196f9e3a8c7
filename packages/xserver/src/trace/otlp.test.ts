// SPDX-License-Identifier: Apache-2.0
// Bounds on what is kept of a request until its span is sent: callers choose the texts, and whether there is a span.

import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expect, it } from "vitest"
import type { RequestRecord } from "../observe/meters.js"
import { MAX_TEXT } from "../observe/own-text.js"
import { writeSpan } from "./otlp.js"
import { requestSpan } from "./request-span.js"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

function spanOf(text: string): object {
  const record: RequestRecord = {
    ...{ protocol: "http/1.1", judgement: undefined, decisionId: undefined, requestId: text, status: 200 },
    ...{ method: text, host: text, path: text, bytesReceived: 0, bytesSent: 0, durationMs: 1 },
    ...{ peer: undefined, source: "127.0.0.1", port: 80, upstreamFailure: undefined },
  }
  return writeSpan(
    { traceId: text, spanId: "00f067aa0ba902b7", parentSpanId: text, traceState: text, startedAt: 0 },
    requestSpan(record, "merlon"),
  )
}

it("truncates long texts", () => {
  const values = JSON.stringify(spanOf("x".repeat(60_000))).match(/"stringValue":"[^"]*"/g) ?? []
  expect(values.length).toBeGreaterThan(3)
  for (const value of values) expect(value.length).toBeLessThan(MAX_TEXT + 30)
})

it("does not keep the heads alive that its texts were cut from", () => {
  const used = (): number => {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  const spans = Array.from({ length: 1_000 }, (_, n) =>
    spanOf(Buffer.alloc(50_000, `${n} `).toString("latin1").slice(100, 132)),
  )
  expect(used() - before).toBeLessThan(25_000_000)
  expect(spans).toHaveLength(1_000)
})
