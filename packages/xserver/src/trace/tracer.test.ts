// SPDX-License-Identifier: Apache-2.0
import { createServer } from "node:http"
import { afterEach, expect, it, vi } from "vitest"
import { listening } from "../accept/testing/rig.js"
import { NO_REQUEST, type RequestRecord } from "../observe/meters.js"
import { requestSpan } from "./request-span.js"
import { Tracer } from "./tracer.js"

const SOURCE = { namespace: "foo", name: "app", version: undefined, scope: "merlon-xserver" }
const RECORD: RequestRecord = {
  ...NO_REQUEST,
  ...{ judgement: undefined, decisionId: undefined, peer: undefined, source: "::1", port: 80, status: 200 },
  protocol: "h2",
  durationMs: 1.5,
}

afterEach(() => vi.useRealTimers())

it("takes the start time from the current wall clock", async () => {
  let taken = ""
  const collector = createServer((request, response) => {
    request.on("data", data => {
      taken += data
    })
    request.on("end", () => response.end())
  })
  const options = { url: `http://127.0.0.1:${await listening(collector)}`, ratio: 1 }
  const tracer = new Tracer<RequestRecord>(options, SOURCE, record => requestSpan(record, "merlon"))
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2040-01-02T03:04:05Z") })
  tracer.begin({ get: () => undefined }).done(RECORD)
  await tracer.close()
  collector.close()
  expect(taken).toContain('"startTimeUnixNano":"2209086245000000000","endTimeUnixNano":"2209086245001500000"')
})
