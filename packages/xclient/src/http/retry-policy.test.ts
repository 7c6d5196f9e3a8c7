// SPDX-License-Identifier: Apache-2.0
import type { UpstreamFailure } from "@merlon/wire/http"
import type { RetrySpec } from "@merlon/xds"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { DEFAULT_RETRIES, isRetryable, type Outcome } from "./retry-policy.js"

const rules = (retryOn: readonly string[], nonIdempotent = false): RetrySpec => ({
  attempts: 2,
  retryOn,
  nonIdempotent,
})
const ALL = ["5xx", "gateway-error", "reset", "connect-failure", "refused-stream", "retriable-4xx", "unavailable"]
const failure = (what: UpstreamFailure): Outcome => ({ kind: "failure", failure: what })
const response = (status: number, notForwarded = false, grpcStatus?: string): Outcome => ({
  kind: "response",
  status,
  notForwarded,
  grpcStatus,
})

describe("a request that no application has seen", () => {
  it.each([
    failure("connect"),
    failure("connect-timeout"),
    failure("refused"),
    failure("pending-full"),
    response(503, true),
  ])("is sent again, whatever its method: %j", outcome => {
    expect(isRetryable(outcome, "POST", DEFAULT_RETRIES)).toBe(true)
    expect(isRetryable(outcome, "GET", rules([]))).toBe(true)
  })
})

describe("a request that an application may have seen", () => {
  const outcomes = fc.oneof(
    fc.constantFrom<UpstreamFailure>("reset", "protocol", "response-timeout").map(failure),
    fc.constant<Outcome>({ kind: "too-slow" }),
    fc.integer({ min: 400, max: 599 }).map(status => response(status)),
    fc.constantFrom(200, 404, 500, 502, 504).map(status => response(status, true)),
  )

  it("is never sent again with a non-idempotent method, unless a MeshService asks for it", () => {
    fc.assert(
      fc.property(outcomes, fc.constantFrom("POST", "PATCH", "CONNECT", "", "get"), (outcome, method) => {
        expect(isRetryable(outcome, method, rules([...ALL, "404", "500", "502", "504"]))).toBe(false)
      }),
    )
  })

  it("is never sent again without a condition", () => {
    fc.assert(
      fc.property(outcomes, fc.boolean(), (outcome, nonIdempotent) => {
        expect(isRetryable(outcome, "GET", rules([], nonIdempotent))).toBe(false)
      }),
    )
  })

  it.each([
    [failure("reset"), "reset", true],
    [failure("reset"), "5xx", true],
    [failure("reset"), "gateway-error", false],
    [failure("protocol"), "reset", false],
    [{ kind: "too-slow" }, "reset", true],
    [{ kind: "too-slow" }, "504", true],
    [response(500), "5xx", true],
    [response(500), "gateway-error", false],
    [response(502), "gateway-error", true],
    [response(503), "503", true],
    [response(503), "502", false],
    [response(409), "retriable-4xx", true],
    [response(404), "retriable-4xx", false],
    [response(200, false, "14"), "unavailable", true],
    [response(200, false, "13"), "unavailable", false],
  ] as const)("%j under `%s`: %s", (outcome, condition, expected) => {
    expect(isRetryable(outcome, "GET", rules([condition]))).toBe(expected)
    expect(isRetryable(outcome, "POST", rules([condition], true))).toBe(expected)
  })
})

describe("without a MeshService", () => {
  it.each([
    ["GET", failure("reset"), true],
    ["POST", failure("reset"), false],
    ["GET", response(503), false],
    ["GET", response(500), false],
  ] as const)("%s after %j: %s", (method, outcome, expected) => {
    expect(isRetryable(outcome, method, DEFAULT_RETRIES)).toBe(expected)
  })
})
