// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { asHeaderObject, endToEndHeaders } from "./hop-by-hop.js"

const pass = (raw: readonly string[]) => ({ ...asHeaderObject(endToEndHeaders(raw)) })

it.each<[string, readonly string[], object]>([
  ["keeps what is for the other end", ["Accept", "*/*", "X-A", "1"], { Accept: "*/*", "X-A": "1" }],
  ["keeps several lines of one name", ["Set-Cookie", "a=1", "set-cookie", "b=2"], { "Set-Cookie": ["a=1", "b=2"] }],
  ["drops what is for the next hop", ["Connection", "close", "Keep-Alive", "1", "TE", "x", "Upgrade", "y"], {}],
  ["drops what was for us", ["Proxy-Connection", "keep-alive", "Proxy-Authorization", "Basic x"], {}],
  ["drops what Connection names", ["Connection", "close, X-Secret", "X-Secret", "1", "X-Open", "2"], { "X-Open": "2" }],
  [
    "keeps the length whatever Connection names",
    ["Connection", "content-length", "Content-Length", "3"],
    { "Content-Length": "3" },
  ],
  ["drops the framing, which is made anew", ["Transfer-Encoding", "chunked", "Trailer", "x"], {}],
  ["takes a name for a name", ["__proto__", "1"], { ["__proto__"]: "1" }],
])("%s", (_, raw, expected) => {
  expect(pass(raw)).toEqual(expected)
})
