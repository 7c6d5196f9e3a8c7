// SPDX-License-Identifier: Apache-2.0
// The cost of counting a call by its shape, apart from the rest of a request: switching it off would save less than the
// difference between two runs of the same work.

import type { Judgement } from "@merlon/policy"
import { CallCounter } from "../../packages/xserver/src/observe/call-counter.js"
import type { RequestRecord } from "../../packages/xserver/src/observe/meters.js"

const ROUNDS = 5
export const CALLS = 500_000
const RULE = { policy: { namespace: "foo", name: "viewer" }, rule: 0, id: "ns[foo]-policy[viewer]-rule[0]" }

const judged = (path: string): Judgement =>
  ({
    verdict: "allow",
    stage: "allow",
    attributes: { http: { path }, token: { issuer: "https://issuer.example" } },
    decision: { verdict: "allow", stage: "allow", rule: RULE, audit: undefined, shadow: undefined },
  }) as unknown as Judgement // only the fields that are read

/** A typical call. */
const BASE: RequestRecord = {
  protocol: "http/1.1",
  judgement: judged("/orders/4711/items"),
  decisionId: undefined,
  requestId: undefined,
  method: "GET",
  host: "httpbin.foo",
  path: "/orders/4711/items",
  status: 200,
  bytesReceived: 0,
  bytesSent: 0,
  durationMs: 1,
  peer: "spiffe://cluster.local/ns/app/sa/consumer",
  source: "127.1.0.3",
  port: 8080,
  upstreamFailure: undefined,
}

export const callOf = (path: string): RequestRecord => ({ ...BASE, path, judgement: judged(path) })

/** Each call has a new path of one template, as in applications with many items. */
export const NEW_EACH_TIME: readonly RequestRecord[] = Array.from({ length: CALLS }, (_, n) =>
  callOf(`/orders/${n}/items`),
)

/** Nanoseconds of CPU per call, the minimum of several rounds. */
export function countingNanoseconds(records: readonly RequestRecord[]): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const counter = new CallCounter("foo/httpbin-1")
    const before = process.cpuUsage()
    for (let n = 0; n < CALLS; n++) {
      const record = records[n % records.length] ?? BASE // the index is always valid
      counter.count(record, n)
    }
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, ((user + system) * 1_000) / CALLS)
  }
  return Math.round(least)
}
