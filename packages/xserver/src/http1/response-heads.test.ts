// SPDX-License-Identifier: Apache-2.0
// Repeated heads are reused, and written exactly as a new one would be.

import { connectionLine, framingFor, parseResponseHead, ResponseHeads, responseHeadText } from "@merlon/wire"
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { removeNominated } from "../http/forwarded-request.js"

const MAX_LINES = 50
const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"

it("returns the same head for the same bytes, and no other", () => {
  const heads = new ResponseHeads(MAX_LINES)
  const first = heads.read(OK, "GET")
  expect(heads.read(OK, "POST")).toBe(first)
  expect(heads.read(OK, "HEAD")).toMatchObject({ framing: { kind: "none" } })
  expect(heads.read(OK, "GET")).toMatchObject({ framing: { kind: "length", length: 2 } })
  expect(heads.read(OK.replace("2\r", "3\r"), "GET")).toMatchObject({ framing: { kind: "length", length: 3 } })
})

it("caches neither bytes that are no head, nor interim heads, nor a long one", () => {
  const heads = new ResponseHeads(MAX_LINES)
  expect(heads.read("HTTP/1.1 200 OK\r\na b\r\n\r\n", "GET")).toBe("bad-header-name")
  for (const text of ["HTTP/1.1 103 Early Hints\r\n\r\n", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(2_048)}\r\n\r\n`]) {
    expect(heads.read(text, "GET")).not.toBe(heads.read(text, "GET"))
  }
})

const line = fc.constantFrom(
  "content-length: 2",
  "content-length:\t2",
  "transfer-encoding: chunked",
  "connection: x-a, close",
  "connection: keep-alive",
  "x-a: 1",
  "set-cookie: a=b",
  "upgrade: websocket",
)
const head = fc.record({
  status: fc.constantFrom(200, 204, 304, 404, 426),
  lines: fc.uniqueArray(line, { maxLength: 4 }),
})
const request = fc.record({
  method: fc.constantFrom("GET", "HEAD"),
  version: fc.constantFrom("http/1.0" as const, "http/1.1" as const),
  keepAlive: fc.boolean(),
})

it("are written as new ones are, to any client", () => {
  fc.assert(
    fc.property(
      fc.array(head, { minLength: 1, maxLength: 2 }),
      fc.array(fc.tuple(fc.nat(1), request)),
      (all, steps) => {
        const heads = new ResponseHeads(MAX_LINES)
        const texts = all.map(
          ({ status, lines }) => `HTTP/1.1 ${status} X\r\n${lines.map(l => `${l}\r\n`).join("")}\r\n`,
        )
        for (const [which, { method, version, keepAlive }] of steps) {
          const text = texts[which] ?? OK
          const written = [heads.read(text, method), parseResponseHead(text, method, MAX_LINES)].map(response => {
            if (typeof response === "string") return response
            removeNominated(response.headers)
            const framing = framingFor(response, version)
            return responseHeadText(response, { method, version }, framing, connectionLine(keepAlive, version))
          })
          expect(written[0]).toBe(written[1])
        }
      },
    ),
    { numRuns: 2_000 * inject("effort") },
  )
})
