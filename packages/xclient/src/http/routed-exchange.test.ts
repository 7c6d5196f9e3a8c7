// SPDX-License-Identifier: Apache-2.0
// Time limits of a request, with a fake clock, upstream and program.

import { parseRequestHead } from "@merlon/wire"
import type {
  LocalReply,
  RequestHead,
  Responder,
  ResponseHead,
  UpstreamCall,
  UpstreamListener,
} from "@merlon/wire/http"
import type { ClusterTraffic, RouteTraffic, ServiceEndpoint } from "@merlon/xds"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { type Destination, Destinations } from "../balance/destination.js"
import { EndpointHealth } from "../balance/endpoint-health.js"
import { EndpointOrder } from "../balance/endpoint-order.js"
import { RetryBudget } from "../balance/retry-budget.js"
import { UNOBSERVED } from "../observe/call-record.js"
import { ObservedRequest } from "../observe/observed-request.js"
import { TestMesh } from "../testing/mesh.js"
import { Attempt } from "./attempt.js"
import { type RequestRouter, RoutedExchange } from "./routed-exchange.js"

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }))
afterEach(() => void vi.useRealTimers())

const at = (address: string): ServiceEndpoint => ({
  address,
  port: 80,
  healthy: true,
  workload: "",
  mtlsMode: "STRICT",
})

function headOf(method: string): RequestHead {
  const head = parseRequestHead(`${method} / HTTP/1.1\r\nHost: web\r\n\r\n`, 100)
  if (typeof head === "string") throw new Error(head)
  return head
}

interface Played {
  readonly method?: string
  readonly addresses?: readonly string[]
  readonly destination?: Destination | undefined
}

function play(traffic: RouteTraffic, { method = "GET", addresses = ["a", "b"], destination }: Played = {}) {
  const [cluster] = new TestMesh().routes([{ subset: "", endpoints: [] }]).clusters
  if (cluster === undefined) throw new Error("no cluster")
  const received: string[] = []
  const judged: string[] = []
  const listeners: UpstreamListener[] = []
  const health = new EndpointHealth()
  const endpoints = addresses.map(at)
  const router: RequestRouter = {
    failureHeader: "x-merlon-failure",
    connectError: () => undefined,
    observe: head =>
      new ObservedRequest(
        UNOBSERVED,
        { destination: "web:80", inMesh: true, decisionHeader: "x-merlon-decision" },
        head,
      ),
    choose: () => ({
      ...{ cluster, name: "web", endpoints: new EndpointOrder(endpoints), panic: false },
      ...{ destination, budget: new RetryBudget(), ...traffic },
    }),
    attempt: (_, endpoint) => new Attempt(endpoint, health, outcome => judged.push(`${endpoint.address} ${outcome}`)),
    send: (_choice, { address }, _request, _head, listener): UpstreamCall => {
      received.push(`sent to ${address}`)
      listeners.push(listener)
      return {
        content() {},
        finishRequest() {},
        flush() {},
        full: false,
        pause() {},
        resume() {},
        abort: () => void received.push(`aborted at ${address}`),
      }
    },
    failed: ({ status, message }): LocalReply => ({ status, body: message, fields: [] }),
  }
  const responder: Responder = {
    informational() {},
    respond: ({ status }) => received.push(`responded ${status}`) > 0,
    content() {},
    end() {},
    flush() {},
    full: false,
    reply: ({ status, body }) => {
      received.push(`replied ${status} ${body}`)
      exchange.finish()
    },
    breakOff: () => {
      received.push("broke off")
      exchange.finish()
    },
    requestWritable() {},
  }
  const exchange = new RoutedExchange(router, responder, headOf(method))
  const beginning = exchange.begin()
  if (beginning === "rejected") exchange.reject()
  else exchange.requestEnd(undefined)
  const outstanding = () => endpoints.reduce((sum, one) => sum + health.stateOf(one).load.outstanding, 0)
  return { exchange, received, judged, outstanding, latest: () => listeners.at(-1) }
}

const OK = { status: 200, headers: headOf("GET").headers } as ResponseHead
const RETRIES = { attempts: 1, retryOn: ["reset"], nonIdempotent: false }

describe("a request with a time limit", () => {
  it("is answered with 504 when the time is over, once", () => {
    const { received, outstanding } = play({ timeoutMs: 5_000 })
    vi.advanceTimersByTime(4_999)
    expect(received).toEqual(["sent to a"])
    vi.advanceTimersByTime(3_600_000)
    expect(received).toEqual(["sent to a", "aborted at a", "replied 504 `web` did not respond within 5000 ms"])
    expect(outstanding()).toBe(0)
  })

  it("breaks off if the response has begun", () => {
    const { received, latest } = play({ timeoutMs: 5_000 })
    latest()?.onResponse(OK)
    vi.advanceTimersByTime(5_000)
    expect(received).toEqual(["sent to a", "responded 200", "aborted at a", "broke off"])
  })

  it("does not end a tunnel", () => {
    const { received, latest } = play({ timeoutMs: 5_000 })
    latest()?.onResponse({ ...OK, status: 101 })
    vi.advanceTimersByTime(3_600_000)
    expect(received).toEqual(["sent to a", "responded 101"])
  })

  it("leaves no timer when it is complete or aborted", () => {
    const ended = play({ timeoutMs: 5_000, retries: { ...RETRIES, perTryTimeoutMs: 1_000 } })
    ended.latest()?.onResponse(OK)
    ended.exchange.finish()
    play({ timeoutMs: 5_000, retries: { ...RETRIES, perTryTimeoutMs: 1_000 } }).exchange.abort()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe("an attempt with a time limit", () => {
  it("is followed by the next one, and the last by 504", () => {
    const { received, outstanding } = play({ retries: { ...RETRIES, perTryTimeoutMs: 1_000 } })
    vi.advanceTimersByTime(1_000)
    expect(received).toEqual(["sent to a", "aborted at a", "sent to b"])
    expect(outstanding()).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(received.slice(3)).toEqual(["aborted at b", "replied 504 `web` did not respond within 1000 ms"])
    expect(outstanding()).toBe(0)
  })

  it("is the last one of a request that must not be sent twice", () => {
    const { received } = play({ retries: { ...RETRIES, perTryTimeoutMs: 1_000 } }, { method: "POST" })
    vi.advanceTimersByTime(1_000)
    expect(received.at(-1)).toMatch(/^replied 504/)
    expect(received.filter(text => text.startsWith("sent"))).toEqual(["sent to a"])
  })

  it("waits before the same endpoint is retried, and is not made if the program has disconnected", () => {
    const { received, latest, exchange, outstanding } = play({ retries: RETRIES }, { addresses: ["a"] })
    latest()?.onFailure("connect")
    expect(exchange.full).toBe(true)
    expect(received).toEqual(["sent to a"])
    exchange.abort()
    vi.advanceTimersByTime(60_000)
    expect(received).toEqual(["sent to a"])
    expect([outstanding(), vi.getTimerCount()]).toEqual([0, 0])
  })
})

function limited(traffic: ClusterTraffic): Destination {
  const [cluster] = new TestMesh().routes([{ subset: "", endpoints: [], cluster: { traffic } }]).clusters
  const destination = cluster && new Destinations().of(cluster)
  if (destination === undefined) throw new Error("nothing is limited")
  return destination
}

describe("a destination with limits", () => {
  const OVERFLOW = "replied 503 `web` is at the limit of its MeshService's connectionPool"

  it("has no more requests in flight than its MeshService allows", () => {
    const destination = limited({ connectionPool: { maxRequests: 2 } })
    const [first] = [play({}, { destination }), play({}, { destination })]
    expect(play({}, { destination }).received).toEqual([`${OVERFLOW} (\`http2MaxRequests\`)`])
    first.exchange.finish()
    first.exchange.finish()
    expect(play({}, { destination }).received).toEqual(["sent to a"])
    expect(play({}, { destination }).received).toEqual([`${OVERFLOW} (\`http2MaxRequests\`)`])
  })

  it("frees the slot of a request, however it ends", () => {
    const destination = limited({ connectionPool: { maxRequests: 1 } })
    play({}, { destination }).exchange.abort()
    play({ retries: { ...RETRIES, attempts: 0 } }, { destination })
      .latest()
      ?.onFailure("reset")
    play({ timeoutMs: 10 }, { destination })
    vi.advanceTimersByTime(10)
    expect(play({}, { destination }).received).toEqual(["sent to a"])
  })

  it("tries no other endpoint if too many requests wait", () => {
    const destination = limited({ connectionPool: { maxConnections: 1, maxPendingRequests: 0 } })
    const { received, latest, judged } = play({ retries: RETRIES }, { destination })
    latest()?.onFailure("pending-full")
    expect(received).toEqual(["sent to a", `${OVERFLOW} (\`maxConnections\` and \`http1MaxPendingRequests\`)`])
    expect(judged).toEqual([])
  })
})

describe("the outcome of an attempt for its endpoint", () => {
  const destination = limited({ outlierDetection: {} })
  const response = (status: number, ...lines: string[]): ResponseHead => {
    const head = parseRequestHead(`GET / HTTP/1.1\r\nHost: a\r\n${lines.map(line => `${line}\r\n`).join("")}\r\n`, 100)
    if (typeof head === "string") throw new Error(head)
    return { status, headers: head.headers } as ResponseHead
  }

  it.each([
    [200, [], "success"],
    [404, [], "success"],
    [500, [], "5xx"],
    [501, [], "5xx"],
    [502, [], "gateway"],
    [503, [], "gateway"],
    [504, [], "gateway"],
    [505, [], "5xx"],
    [200, ["content-type: application/grpc", "grpc-status: 14"], "gateway"],
    [200, ["content-type: application/grpc", "grpc-status: 13"], "5xx"],
    [200, ["content-type: application/grpc", "grpc-status: 5"], "success"],
  ])("a response with %i %j: %s", (status, lines, outcome) => {
    const { judged, latest } = play({}, { destination })
    latest()?.onResponse(response(status, ...lines))
    expect(judged).toEqual([`a ${outcome}`])
  })

  it("is in the trailers of a gRPC call", () => {
    const { judged, latest } = play({}, { destination })
    latest()?.onResponse(response(200, "content-type: application/grpc+proto"))
    expect(judged).toEqual([])
    latest()?.onEnd(response(200, "grpc-status: 14").headers)
    expect(judged).toEqual(["a gateway"])
  })

  it.each([
    ["connect", ["a gateway"]],
    ["connect-timeout", ["a gateway"]],
    ["response-timeout", ["a gateway"]],
    ["reset", ["a 5xx"]],
    ["protocol", ["a 5xx"]],
    ["refused", []],
    ["pending-full", []],
  ] as const)("%s: %j", (failure, outcomes) => {
    const { judged, latest } = play({}, { destination })
    latest()?.onFailure(failure)
    expect(judged).toEqual(outcomes)
  })

  it("is an error if it timed out, and none if the program disconnected", () => {
    const slow = play({ timeoutMs: 10 }, { destination })
    const tries = play({ retries: { ...RETRIES, perTryTimeoutMs: 10 } }, { destination })
    const gone = play({}, { destination })
    gone.exchange.abort()
    vi.advanceTimersByTime(10)
    expect([slow.judged, tries.judged, gone.judged]).toEqual([["a gateway"], ["a gateway"], []])
  })
})
