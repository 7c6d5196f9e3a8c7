// SPDX-License-Identifier: Apache-2.0
// The reader behind nghttp2, fed with what nghttp2 would never let through: it must not depend on that.

import fc from "fast-check"
import { describe, expect, it, test } from "vitest"
import { DEFAULT_LIMITS } from "../limits.js"
import { readRequest, readTrailers } from "./request.js"

const GET = [":method", "GET", ":scheme", "http", ":path", "/a?b", ":authority", "h:1"]

function read(raw: readonly string[], ended = true) {
  return readRequest(raw, ended, DEFAULT_LIMITS)
}

it("reads a request as the HTTP/1.1 codec would", () => {
  const head = read([...GET, "x-a", "1", "cookie", "a=1", "x-a", "2", "cookie", "b=2"])
  if (typeof head === "string") throw new Error(head)
  expect(head).toMatchObject({ method: "GET", target: "/a?b", host: "h:1", framing: { kind: "none" } })
  expect(head.headers.get("x-a")).toEqual(["1", "2"])
  expect(head.headers.get("cookie")).toEqual(["a=1; b=2"])
  expect(head.headers.get("host")).toEqual(["h:1"])
})

describe("frames content", () => {
  test.each<[string, string[], boolean, object]>([
    ["by nothing where there is none", [], true, { kind: "none" }],
    ["in chunks where its length is not told", [], false, { kind: "chunked" }],
    ["by its length where it is", ["content-length", "5"], false, { kind: "length", length: 5 }],
  ])("%s", (_, more, ended, framing) => {
    expect(read([...GET, ...more], ended)).toMatchObject({ framing })
  })
})

describe("refuses", () => {
  test.each<[string, string[], string]>([
    ["a line break in a value", [...GET, "x-a", "b\r\nx-c: d"], "bad-header-value"],
    ["the end of all headers in a value", [...GET, "x-a", "b\r\n\r\nGET / HTTP/1.1", "x-e", "f"], "bad-header-value"],
    ["a bare line feed in a value", [...GET, "x-a", "b\nx-c: d"], "bad-header-value"],
    ["a line break in a name", [...GET, "x-a: b\r\nx-c", "d"], "bad-header-value"],
    ["a line break in a cookie", [...GET, "cookie", "a=1\r\nx-c: d"], "bad-header-value"],
    ["a line break in the authority", [...GET.slice(0, 6), ":authority", "h\r\nx: y"], "bad-host"],
    ["a line break in the path", [...GET.slice(0, 4), ":path", "/\r\nx: y", ":authority", "h"], "bad-target"],
    ["a path that is another host's", [...GET.slice(0, 4), ":path", "http://x/", ":authority", "h"], "bad-target"],
    ["two methods", [...GET, ":method", "POST"], "bad-request-line"],
    ["two hosts", [...GET, "host", "h:1", "host", "h:1"], "two-hosts"],
    ["another host", [...GET, "host", "h:2"], "two-hosts"],
    ["no host", GET.slice(0, 6), "no-host"],
    ["headers about the connection", [...GET, "connection", "close"], "bad-header-name"],
    ["a transfer coding", [...GET, "transfer-encoding", "chunked"], "bad-header-name"],
    ["a WebSocket", [":method", "CONNECT", ":protocol", "websocket", ...GET.slice(2)], "connect-refused"],
    ["more than the limits allow", [...GET, "x", "y".repeat(DEFAULT_LIMITS.headerBytes)], "head-too-large"],
  ])("%s", (_, raw, fault) => {
    expect(read(raw)).toBe(fault)
  })
})

it("leaves out trailers that are more than one line", () => {
  expect(readTrailers(["x-a", "1", "x-b", "2\r\nx-c: 3", "x d", "4", "x-e", "5\r\n\r\nGET /"])).toEqual([["x-a", "1"]])
})

it("never throws, and never makes lines that were not there", () => {
  const name = fc.constantFrom("x-a", "cookie", "x\r\ny", "host", ":path", "", "a:b", "content-length")
  const value = fc.string({ unit: fc.constantFrom("a", "1", " ", "\r", "\n", ":", "\0", "\xff", "/"), maxLength: 12 })
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 8 }), fc.boolean(), (pairs, ended) => {
      const head = read([...GET, ...pairs.flat()], ended)
      if (typeof head !== "string") expect(head.headers.size).toBeLessThanOrEqual(pairs.length + 1)
    }),
    { numRuns: 2_000 },
  )
})
