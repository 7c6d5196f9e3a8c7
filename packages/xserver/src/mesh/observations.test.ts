// SPDX-License-Identifier: Apache-2.0
// The reports to the control plane: every count once, whatever happens to streams; decisions only while a client
// follows them.

import type { ObservedCall } from "@merlon/policy/ledger"
import { MAX_DESTINATIONS, type Observation } from "@merlon/xds"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { DecisionListener } from "../observe/decision-tail.js"
import type { DecisionSummary } from "../observe/decisions.js"
import { Observations } from "./observations.js"

const call = (port: number, count = 1): ObservedCall => ({
  ...{ address: "10.0.0.1", workload: "foo/httpbin-1", port, protocol: "tcp", tls: false },
  ...{ verdict: "allow", stage: "default", firstSeen: 1, lastSeen: 2, count },
})

const DECISION: DecisionSummary = {
  ...{ time: "2026-01-02T03:04:05.000Z", id: "abc", verdict: "deny", stage: "allow", protocol: "http/1.1", port: 80 },
  ...{ method: "GET", path: "/", status: 403, peer: undefined, source: "10.0.0.1", rule: undefined },
  ...{ reason: "no ALLOW rule matches", shadow: undefined, explanation: undefined },
}

function stage() {
  const seen: ObservedCall[][] = []
  let listener: DecisionListener | undefined
  const observations = new Observations({ everyMs: 1_000 })
  observations.observe({
    takeCalls: async () => ({ calls: seen.shift() ?? [], forgotten: 0 }),
    followDecisions: async wanted => {
      listener = wanted
    },
    decisions: async () => [DECISION],
    decision: async id => (id === "abc" ? DECISION : undefined),
  })
  const connect = () => {
    const result: Observation[] = []
    const conversation = observations.open(observation => {
      result.push(observation)
      return true
    })
    return { result, ...conversation }
  }
  const tick = () => vi.advanceTimersByTimeAsync(1_000)
  return { observations, seen, connect, tick, listener: () => listener }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe("counts", () => {
  it("are resent with the same number until acknowledged, before newer ones", async () => {
    const { seen, connect, tick } = stage()
    seen.push([call(1, 2)], [call(1, 3)], [call(1, 4)])
    const first = connect()
    await tick()
    const [batch] = first.result
    expect(batch).toMatchObject({ kind: "calls", sequence: 1, calls: [call(1, 2)] })
    await tick()
    expect(first.result).toHaveLength(1)
    first.closed()
    await tick()
    const second = connect()
    expect(second.result).toEqual([batch])
    if (batch?.kind !== "calls") throw new Error("no batch")
    second.onInquiry({ kind: "taken", run: "another", sequence: 1 })
    expect(second.result).toHaveLength(1)
    second.onInquiry({ kind: "taken", run: batch.run, sequence: 1 })
    expect(second.result[1]).toMatchObject({ sequence: 2, calls: [call(1, 7)] })
  })

  it("are sent again on the same stream without an acknowledgement", async () => {
    const { seen, connect, tick } = stage()
    seen.push([call(1)])
    const { result: received } = connect()
    for (let turn = 0; turn < 7; turn++) await tick()
    expect(received).toHaveLength(2)
    expect(received[1]).toEqual(received[0])
  })

  it("are kept without a listener; the oldest beyond the limit are dropped and counted", async () => {
    const { seen, connect, tick } = stage()
    seen.push(Array.from({ length: 5_000 }, (_, port) => call(port)))
    await tick()
    const { result: received } = connect()
    await tick()
    const [batch] = received
    if (batch?.kind !== "calls") throw new Error("no batch")
    expect(batch.calls).toHaveLength(500)
    expect(batch.forgotten).toBeGreaterThan(0)
  })
})

describe("decisions", () => {
  it("are sent while a client follows, but not longer than the stream exists", async () => {
    const { connect, listener } = stage()
    const stream = connect()
    stream.onInquiry({ kind: "follow", on: true })
    listener()?.([DECISION], 3)
    expect(stream.result).toMatchObject([{ kind: "decisions", decisions: [{ id: "abc" }], leftOut: 3 }])
    stream.closed()
    expect(listener()).toBeUndefined()
  })

  it("are found by their id, and the last ones on request", async () => {
    const { connect } = stage()
    const { result: received, onInquiry } = connect()
    onInquiry({ kind: "find", inquiry: 1, id: "abc" })
    onInquiry({ kind: "find", inquiry: 2, id: "other" })
    onInquiry({ kind: "recent", inquiry: 3, limit: 10 })
    await vi.advanceTimersByTimeAsync(0)
    expect(received).toMatchObject([
      { kind: "answer", inquiry: 1, decisions: [{ id: "abc" }] },
      { kind: "answer", inquiry: 2, decisions: [] },
      { kind: "answer", inquiry: 3, decisions: [{ status: 403 }] },
    ])
  })
})

it("reports the calls of the workload on request, as many as fit into a message", () => {
  const destinations = Array.from({ length: MAX_DESTINATIONS + 1 }, (_, n) => ({
    ...{ destination: `web${n}.app:80`, inMesh: true, transport: "mtls" as const },
    ...{ count: 1, failures: 0, firstSeen: 1, lastSeen: 2 },
  }))
  const result: Observation[] = []
  const { onInquiry } = new Observations({ destinations: () => destinations }).open(one => result.push(one) > 0)
  onInquiry({ kind: "destinations", inquiry: 7 })
  expect(result).toEqual([{ kind: "destinations", inquiry: 7, destinations: destinations.slice(0, MAX_DESTINATIONS) }])
})
