// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, test } from "vitest"
import { expectClean, expectError, judge } from "./testing/documents.js"

const AT = "spec.denyResponse"

describe.each(["AuthorizationPolicy", "RequestAuthentication"] as const)("denyResponse of a %s", kind => {
  test.each<[string, object]>([
    ["nothing", {}],
    ["a status", { status: 404 }],
    ["a redirect", { status: 302, headers: [{ name: "Location", value: "https://login.example/?from=shop" }] }],
    [
      "content of its type",
      { body: '{"error":"no"}\n', headers: [{ name: "content-type", value: "application/json" }] },
    ],
    ["the longest content", { body: "x".repeat(4_096) }],
  ])("accepts %s", (_, denyResponse) => expectClean(judge(kind, { denyResponse })))

  const header = (name: string, value = "x") => ({ headers: [{ name, value }] })
  test.each<[string, object, string, string]>([
    ["success", { status: 200 }, "status", "write a status that denies"],
    ["a failure of the server", { status: 503 }, "status", "out of range"],
    ["not modified", { status: 304 }, "status", "304 does not deny"],
    ["a status that is no number", { status: "403" }, "status", "whole number"],
    ["content that is too long", { body: "x".repeat(4_097) }, "body", "4096"],
    ["content that is not ASCII", { body: "n\u00f6" }, "body", "ASCII"],
    ["content with a control character", { body: "\u0000" }, "body", ""],
    ["a header of the framing", header("Content-Length"), "headers[0].name", "belongs to HTTP itself"],
    ["a header that describes the caller", header("x-forwarded-client-cert"), "headers[0].name", "to the proxy"],
    ["the id of the decision", header("X-Merlon-Decision"), "headers[0].name", "to the proxy"],
    ["what makes a proxy ask again", header("x-merlon-failure", "not-forwarded"), "headers[0].name", "to the proxy"],
    ["what gRPC callers take for the outcome", header("grpc-status", "0"), "headers[0].name", "to the proxy"],
    ["a second date", header("Date"), "headers[0].name", "to the proxy"],
    ["a name that is none", header("a b"), "headers[0].name", ""],
    ["a value with a line break", header("x-a", "a\r\nset-cookie: b"), "headers[0].value", ""],
    ["a value with a blank at its end", header("x-a", "x "), "headers[0].value", ""],
    ["a value that is too long", header("x-a", "x".repeat(1_025)), "headers[0].value", "1024"],
    [
      "one header in two spellings",
      { headers: [...header("X-A").headers, ...header("x-a").headers] },
      "headers[1].name",
      "twice",
    ],
    [
      "too many headers",
      { headers: Array.from({ length: 17 }, (_, i) => ({ name: `x-${i}`, value: "x" })) },
      "headers",
      "16",
    ],
    ["a field that is not known", { reason: "no" }, "reason", "unknown field"],
  ])("rejects %s", (_, denyResponse, path, message) => {
    expectError(judge(kind, { denyResponse }), `${AT}.${path}`, message)
  })
})

it.each(["AUDIT", "CUSTOM"])("is rejected with the action %s", action => {
  const provider = action === "CUSTOM" ? { provider: { name: "opa" } } : {}
  expectError(
    judge("AuthorizationPolicy", { action, ...provider, denyResponse: {}, rules: [{}] }),
    AT,
    "is for the actions ALLOW and DENY",
  )
})

it("is accepted in a DENY policy", () => {
  expect(judge("AuthorizationPolicy", { action: "DENY", denyResponse: {}, rules: [{}] }).errors).toEqual([])
})
