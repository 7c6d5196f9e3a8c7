// SPDX-License-Identifier: Apache-2.0
// Observations of proxies and inquiries to them, over a real connection: in both directions, only for authenticated
// callers, and never at the cost of their configuration.

import type { ObservedCall } from "@merlon/policy/ledger"
import { afterEach, describe, expect, it, test, vi } from "vitest"
import { clientRig, TYPE } from "./client/testing/client-rig.js"
import {
  type CalledDestination,
  type Inquiry,
  type Observation,
  readInquiry,
  readObservation,
  writeObservation,
} from "./observation.js"
import type { ObservationSink } from "./server/serve-observations.js"
import { RawClient } from "./testing/raw-client.js"
import { serverRig } from "./testing/server-rig.js"

const CALL: ObservedCall = {
  caller: "spiffe://cluster.local/ns/app/sa/consumer",
  ...{ workload: "shop/orders-1", port: 8080, protocol: "http", method: "GET", path: "/status/{*}" },
  ...{ tls: true, verdict: "allow", stage: "default", firstSeen: 1, lastSeen: 2, count: 3 },
}
const BATCH: Observation = { kind: "calls", run: "r", sequence: 1, calls: [CALL], forgotten: 0 }

const CALLED: CalledDestination = {
  ...{ destination: "web.app:80", inMesh: true, transport: "mtls", count: 1, failures: 0, firstSeen: 1, lastSeen: 2 },
}
const ANSWER = { kind: "destinations", inquiry: 1 } as const

const closing: (() => unknown)[] = []
const until = (check: () => void) => vi.waitFor(check, { timeout: 90_000, interval: 5 })

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function rig(observations?: ObservationSink) {
  const server = await serverRig(observations === undefined ? {} : { observations })
  server.source.set(TYPE, "a", "1")
  const asked: Inquiry[] = []
  const resultOf: ((observation: Observation) => boolean)[] = []
  let closed = 0
  const each = clientRig({
    address: server.address,
    bundle: server.authority.bundle,
    observations: {
      open: say => {
        resultOf.push(say)
        return { onInquiry: inquiry => void asked.push(inquiry), closed: () => void closed++ }
      },
    },
  })
  closing.push(
    () => each.client.close(),
    () => server.server.close(),
  )
  each.client.start()
  await until(() => expect(each.held.get("a")).toBe("1"))
  return { server, each, asked, resultOf, closed: () => closed }
}

describe("the stream of observations", () => {
  it("carries observations and inquiries, and ends with the connection", async () => {
    const received: Observation[] = []
    let ended = 0
    const {
      resultOf: result,
      asked,
      each,
      closed,
    } = await rig({
      open: (caller, nodeId, ask) => {
        expect([caller.pod, nodeId]).toEqual(["orders-1", "shop/orders-1"])
        ask({ kind: "follow", on: true })
        return { onObservation: observation => void received.push(observation), closed: () => void ended++ }
      },
    })
    await until(() => expect(asked).toEqual([{ kind: "follow", on: true }]))
    result[0]?.(BATCH)
    await until(() => expect(received).toEqual([BATCH]))
    each.client.close()
    await until(() => expect([ended, closed()]).toEqual([1, 1]))
  })

  it("is reopened at once with the next connection", async () => {
    let opened = 0
    const { each, resultOf: received } = await rig({
      open: () => {
        opened += 1
        return { onObservation: () => undefined, closed: () => undefined }
      },
    })
    await until(() => expect([opened, received.length]).toEqual([1, 1]))
    each.client.refreshMetadata()
    await until(() => expect([opened, received.length]).toEqual([2, 2]))
  })

  it("is rejected for callers that may not report for the workload, without affecting their configuration", async () => {
    const { each } = await rig({ open: () => ({ code: "PERMISSION_DENIED", message: "not yours" }) })
    await until(() => expect(each.logged.map(({ fields }) => fields)).toContainEqual({ why: "not yours" }))
    expect(each.client.connected).toBe(true)
  })

  it("is not offered without a listener, and clients work without it", async () => {
    const { each, closed, server } = await rig()
    await until(() => expect(closed()).toBe(1))
    server.source.set(TYPE, "b", "1")
    await until(() => expect(each.held.get("b")).toBe("1"))
  })

  it("ends when the token expires that it was opened with", async () => {
    const { server } = await rig({ open: () => ({ onObservation: () => undefined, closed: () => undefined }) })
    server.state.tokensEnd = Date.now() + 300
    const client = new RawClient({ address: server.address, bundle: server.authority.bundle, token: "good:orders-1" })
    closing.push(() => client.client.close())
    const stream = client.observe()
    stream.send({ nodeId: "shop/orders-1" })
    expect(await stream.ended()).toMatch(/^UNAUTHENTICATED: the token has expired/)
  })

  it("ends for a proxy that sends a malformed observation", async () => {
    const received: Observation[] = []
    const { resultOf: result, closed } = await rig({
      open: () => ({ onObservation: one => void received.push(one), closed: () => undefined }),
    })
    await until(() => expect(result).toHaveLength(1))
    result[0]?.({ ...BATCH, sequence: -1 })
    await until(() => expect(closed()).toBe(1))
    expect(received).toEqual([])
  })
})

describe("observations and inquiries", () => {
  test.each([
    ["{}", "unknown kind"],
    ["[]", "unknown kind"],
    ["x", "is not JSON"],
    [writeObservation({ ...BATCH, calls: Array.from({ length: 501 }, () => CALL) }), "must be a list of at most 500"],
    [JSON.stringify({ ...BATCH, calls: [{ ...CALL, token: "eyJ" }] }), "calls[0].token: unknown field"],
    [JSON.stringify({ ...ANSWER, destinations: Array(201).fill(CALLED) }), "must be a list of at most 200"],
    [JSON.stringify({ ...ANSWER, destinations: [{ ...CALLED, transport: "pigeon" }] }), "destinations[0].transport"],
    [JSON.stringify({ ...ANSWER, destinations: [{ ...CALLED, destination: "x".repeat(301) }] }), "1 to 300 characters"],
    [JSON.stringify({ ...ANSWER, destinations: [{ ...CALLED, count: -1 }] }), "destinations[0].count"],
    [JSON.stringify({ ...ANSWER, destinations: [{ ...CALLED, lastSeen: 9e15 }] }), "destinations[0].lastSeen"],
    [JSON.stringify({ kind: "decisions", decisions: [{}], leftOut: 0 }), "decisions[0].time"],
  ])("are rejected if malformed: %#", (json, message) => {
    expect(() => readObservation(json)).toThrow(message)
  })

  it("about called destinations are read, ignoring fields of a newer proxy", () => {
    const destinations = Array<CalledDestination>(200).fill(CALLED)
    expect(readObservation(writeObservation({ ...ANSWER, destinations }))).toEqual({ ...ANSWER, destinations })
    expect(readObservation(JSON.stringify({ ...ANSWER, destinations: [{ ...CALLED, mood: "good" }] }))).toEqual({
      ...ANSWER,
      destinations: [CALLED],
    })
  })

  it("of a newer control plane are ignored", () => {
    expect(readInquiry('{"kind":"sing"}')).toBeUndefined()
    expect(() => readInquiry('{"kind":"find","inquiry":1}')).toThrow("id")
  })
})
