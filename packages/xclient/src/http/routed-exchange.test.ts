// SPDX-License-Identifier: Apache-2.0
// Time limits of a request, with a clock that the test moves, and an upstream and a program that the test plays.

import { parseRequestHead } from "@merlon/wire"
import type {
  LocalReply,
  RequestHead,
  Responder,
  ResponseHead,
  UpstreamCall,
  UpstreamListener,
} from "@merlon/wire/http"
import type { RouteTraffic, ServiceEndpoint } from "@merlon/xds"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { EndpointHealth } from "../balance/endpoint-health.js"
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

function play(traffic: RouteTraffic, { method = "GET", addresses = ["a", "b"] } = {}) {
  const [cluster] = new TestMesh().routes([{ subset: "", endpoints: [] }]).clusters
  if (cluster === undefined) throw new Error("no cluster")
  const told: string[] = []
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
    choose: () => ({ cluster, name: "web", endpoints, panic: false, budget: new RetryBudget(), ...traffic }),
    attempt: endpoint => new Attempt(endpoint, health),
    send: (_choice, { address }, _request, _head, listener): UpstreamCall => {
      told.push(`sent to ${address}`)
      listeners.push(listener)
      return {
        content() {},
        finishRequest() {},
        flush() {},
        full: false,
        pause() {},
        resume() {},
        abort: () => void told.push(`aborted at ${address}`),
      }
    },
    failed: ({ status, message }): LocalReply => ({ status, body: message, fields: [] }),
  }
  const responder: Responder = {
    informational() {},
    respond: ({ status }) => told.push(`responded ${status}`) > 0,
    content() {},
    end() {},
    flush() {},
    full: false,
    reply: ({ status, body }) => {
      told.push(`replied ${status} ${body}`)
      exchange.finish()
    },
    breakOff: () => {
      told.push("broke off")
      exchange.finish()
    },
    requestWritable() {},
  }
  const exchange = new RoutedExchange(router, responder, headOf(method))
  expect(exchange.begin()).toBe("forwarded")
  exchange.requestEnd(undefined)
  const outstanding = () => endpoints.reduce((sum, one) => sum + health.stateOf(one).load.outstanding, 0)
  return { exchange, told, outstanding, latest: () => listeners.at(-1) }
}

const OK = { status: 200, headers: headOf("GET").headers } as ResponseHead
const RETRIES = { attempts: 1, retryOn: ["reset"], nonIdempotent: false }

describe("a request with a time limit", () => {
  it("is answered with 504 when it is over, once", () => {
    const { told, outstanding } = play({ timeoutMs: 5_000 })
    vi.advanceTimersByTime(4_999)
    expect(told).toEqual(["sent to a"])
    vi.advanceTimersByTime(3_600_000)
    expect(told).toEqual(["sent to a", "aborted at a", "replied 504 `web` did not answer within 5000 ms"])
    expect(outstanding()).toBe(0)
  })

  it("breaks off where the response has begun", () => {
    const { told, latest } = play({ timeoutMs: 5_000 })
    latest()?.onResponse(OK)
    vi.advanceTimersByTime(5_000)
    expect(told).toEqual(["sent to a", "responded 200", "aborted at a", "broke off"])
  })

  it("keeps a tunnel for as long as it stands", () => {
    const { told, latest } = play({ timeoutMs: 5_000 })
    latest()?.onResponse({ ...OK, status: 101 })
    vi.advanceTimersByTime(3_600_000)
    expect(told).toEqual(["sent to a", "responded 101"])
  })

  it("leaves no timer when it is over or given up", () => {
    const ended = play({ timeoutMs: 5_000, retries: { ...RETRIES, perTryTimeoutMs: 1_000 } })
    ended.latest()?.onResponse(OK)
    ended.exchange.finish()
    play({ timeoutMs: 5_000, retries: { ...RETRIES, perTryTimeoutMs: 1_000 } }).exchange.abort()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe("a try with a time limit", () => {
  it("is followed by the next one, and the last by 504", () => {
    const { told, outstanding } = play({ retries: { ...RETRIES, perTryTimeoutMs: 1_000 } })
    vi.advanceTimersByTime(1_000)
    expect(told).toEqual(["sent to a", "aborted at a", "sent to b"])
    expect(outstanding()).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(told.slice(3)).toEqual(["aborted at b", "replied 504 `web` did not answer within 1000 ms"])
    expect(outstanding()).toBe(0)
  })

  it("is the last one of a request that must not be sent twice", () => {
    const { told } = play({ retries: { ...RETRIES, perTryTimeoutMs: 1_000 } }, { method: "POST" })
    vi.advanceTimersByTime(1_000)
    expect(told.at(-1)).toMatch(/^replied 504/)
    expect(told.filter(text => text.startsWith("sent"))).toEqual(["sent to a"])
  })

  it("waits a moment before the same endpoint, and is not made for a program that has gone", () => {
    const { told, latest, exchange, outstanding } = play({ retries: RETRIES }, { addresses: ["a"] })
    latest()?.onFailure("connect")
    expect(exchange.full).toBe(true)
    expect(told).toEqual(["sent to a"])
    exchange.abort()
    vi.advanceTimersByTime(60_000)
    expect(told).toEqual(["sent to a"])
    expect([outstanding(), vi.getTimerCount()]).toEqual([0, 0])
  })
})
