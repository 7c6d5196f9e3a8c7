// SPDX-License-Identifier: Apache-2.0
// Reads fields as a request: rejects what is malformed by RFC 9113 section 8, and what HTTP/1.1 could not express.

import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { Field } from "./field.js"
import { readRequestHead, readTrailers } from "./request-head.js"

type Pairs = readonly (readonly [name: string, value: string])[]

const GET: Pairs = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/a?b"],
  [":authority", "h:1"],
]
const WEBSOCKET: Pairs = [[":method", "CONNECT"], [":protocol", "websocket"], ...GET.slice(1)]

const list = (pairs: Pairs): Field[] => pairs.map(([name, value]) => new Field(name, value, false))
const read = (pairs: Pairs, ended = true) => readRequestHead(list(pairs), ended)
const without = (name: string): Pairs => GET.filter(([key]) => key !== name)
const replaced = (name: string, value: string): Pairs => GET.map(pair => (pair[0] === name ? [name, value] : pair))

it("parses a request to the same value as the HTTP/1.1 codec", () => {
  const head = read([...GET, ["x-a", "1"], ["cookie", "a=1"], ["x-a", "2"], ["cookie", "b=2"]])
  if (typeof head === "string") throw new Error(head)
  expect(head).toMatchObject({ version: "h2", method: "GET", target: "/a?b", host: "h:1", framing: { kind: "none" } })
  expect(head.headers.get("x-a")).toEqual(["1", "2"])
  expect(head.headers.get("cookie")).toEqual(["a=1; b=2"])
  expect(head.headers.get("host")).toEqual(["h:1"])
})

it("parses a WebSocket as an HTTP/1.1 upgrade", () => {
  expect(read(WEBSOCKET, false)).toMatchObject({ method: "GET", upgrade: "websocket", framing: { kind: "none" } })
})

describe("frames content", () => {
  test.each<[string, Pairs, boolean, object]>([
    ["as none if there is none", [], true, { kind: "none" }],
    ["as chunked without a length", [], false, { kind: "chunked" }],
    ["by its length", [["content-length", "5"]], false, { kind: "length", length: 5 }],
  ])("%s", (_, more, ended, framing) => {
    expect(read([...GET, ...more], ended)).toMatchObject({ framing })
  })
})

describe("rejects", () => {
  test.each<[string, Pairs, string]>([
    ["no method", without(":method"), "bad-pseudo-header"],
    ["no scheme", without(":scheme"), "bad-pseudo-header"],
    ["an invalid scheme", replaced(":scheme", "ht tp"), "bad-pseudo-header"],
    ["no path", without(":path"), "bad-pseudo-header"],
    ["an empty path", replaced(":path", ""), "bad-pseudo-header"],
    ["two methods", [...GET, [":method", "POST"]], "bad-pseudo-header"],
    ["a pseudo-header after a field", [...GET.slice(0, 3), ["x-a", "1"], ...GET.slice(3)], "bad-pseudo-header"],
    ["a pseudo-header of responses", [...GET, [":status", "200"]], "bad-pseudo-header"],
    ["an unknown pseudo-header", [...GET, [":x", "1"]], "bad-pseudo-header"],
    ["capitals in a name", [...GET, ["X-A", "1"]], "bad-header-name"],
    ["an empty name", [...GET, ["", "1"]], "bad-header-name"],
    ["a space in a name", [...GET, ["x a", "1"]], "bad-header-name"],
    ["a colon in a name", [...GET, ["x:a", "1"]], "bad-header-name"],
    ["a line break in a name", [...GET, ["x-a\r\nx-c", "d"]], "bad-header-name"],
    ["a line break in a value", [...GET, ["x-a", "b\r\nx-c: d"]], "bad-header-value"],
    ["a bare line feed in a value", [...GET, ["x-a", "b\nx-c: d"]], "bad-header-value"],
    ["a NUL in a value", [...GET, ["x-a", "b\0"]], "bad-header-value"],
    ["a space before a value", [...GET, ["x-a", " b"]], "bad-header-value"],
    ["a tab after a value", [...GET, ["x-a", "b\t"]], "bad-header-value"],
    ["a line break in a cookie", [...GET, ["cookie", "a=1\r\nx-c: d"]], "bad-header-value"],
    ["a line break in the authority", replaced(":authority", "h\r\nx: y"), "bad-header-value"],
    ["a line break in the path", replaced(":path", "/\r\nx: y"), "bad-header-value"],
    ["a space in the path", replaced(":path", "/ HTTP/1.1"), "bad-target"],
    ["a path with another host", replaced(":path", "http://x/"), "bad-target"],
    ["a star without OPTIONS", replaced(":path", "*"), "bad-target"],
    ["an invalid authority", replaced(":authority", "a@b"), "bad-host"],
    ["no host", without(":authority"), "no-host"],
    ["two hosts", [...GET, ["host", "h:1"], ["host", "h:1"]], "two-hosts"],
    ["another host", [...GET, ["host", "h:2"]], "two-hosts"],
    ["Connection", [...GET, ["connection", "close"]], "bad-header-name"],
    ["Keep-Alive", [...GET, ["keep-alive", "1"]], "bad-header-name"],
    ["Proxy-Connection", [...GET, ["proxy-connection", "close"]], "bad-header-name"],
    ["Upgrade", [...GET, ["upgrade", "websocket"]], "bad-header-name"],
    ["a transfer coding", [...GET, ["transfer-encoding", "chunked"]], "bad-header-name"],
    ["TE with more than trailers", [...GET, ["te", "trailers, gzip"]], "bad-header-name"],
    ["two lengths", [...GET, ["content-length", "0"], ["content-length", "0"]], "two-lengths"],
    ["an invalid length", [...GET, ["content-length", "+0"]], "bad-length"],
    ["a length without content", [...GET, ["content-length", "5"]], "bad-length"],
    ["a method in another case", replaced(":method", "get"), "unknown-method"],
    ["a method that is not a token", replaced(":method", "GE T"), "bad-pseudo-header"],
    [
      "CONNECT",
      [
        [":method", "CONNECT"],
        [":authority", "db:5432"],
      ],
      "connect-rejected",
    ],
    ["CONNECT with a path", replaced(":method", "CONNECT"), "bad-pseudo-header"],
    ["a protocol without CONNECT", [...GET, [":protocol", "websocket"]], "bad-pseudo-header"],
  ])("%s", (_, pairs, error) => {
    expect(read(pairs)).toBe(error)
  })
})

test.each<[string, Pairs]>([
  ["a pseudo-header", [[":path", "/"]]],
  ["a line break", [["x-a", "1\r\nx-b: 2"]]],
  ["capitals", [["X-A", "1"]]],
])("rejects trailers with %s", (_, pairs) => {
  expect(readTrailers(list(pairs))).toBeTypeOf("string")
})

it("never throws, and writes accepted fields unchanged as lines", () => {
  const name = fc.constantFrom("x-a", "cookie", "x\r\ny", "host", ":path", "", "a:b", "content-length", "te")
  const value = fc.string({ unit: fc.constantFrom("a", "1", " ", "\r", "\n", ":", "\0", "\xff", "/"), maxLength: 12 })
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 8 }), fc.boolean(), (pairs, ended) => {
      const head = read([...GET, ...pairs], ended)
      if (typeof head === "string") return
      const lines = head.headers.lines(() => true).split("\r\n")
      expect(lines.length - 1).toBe(head.headers.size)
      expect(head.headers.size).toBeLessThanOrEqual(pairs.length + 1)
    }),
    { numRuns: 2_000 * inject("effort") },
  )
})
