// SPDX-License-Identifier: Apache-2.0
// Repeated heads on a connection are reused, but never in place of a different one.

import fc from "fast-check"
import { expect, it } from "vitest"
import { framingFor, responseHeadText } from "../http1/response-head.js"
import { Field } from "./field.js"
import { HpackDecoder } from "./hpack/decoder.js"
import { HpackEncoder } from "./hpack/encoder.js"
import { ResponseHeads, readResponseHead } from "./response-head.js"

const STATUS = new Field(":status", "200", false)
const TYPE = new Field("content-type", "application/grpc", false)

it("returns the same head for the same fields of the table, and never for others", () => {
  const heads = new ResponseHeads()
  const first = heads.read([STATUS, TYPE], "POST", false)
  expect(heads.read([STATUS, TYPE], "GET", false)).toBe(first)
  expect(heads.read([STATUS, TYPE], "POST", true)).toMatchObject({ framing: { kind: "none" }, trailers: false })
  expect(heads.read([STATUS, TYPE], "HEAD", false)).toMatchObject({ framing: { kind: "none" }, trailers: true })
  expect(heads.read([STATUS], "HEAD", false)).toMatchObject({ headers: { size: 0 } })
  const other = new Field("content-type", "text/plain", false)
  expect(heads.read([STATUS, other], "POST", false)).toMatchObject({ framing: { kind: "chunked" } })
  expect(heads.read([STATUS, TYPE], "POST", false)).not.toBe(first)
})

it("caches neither invalid heads nor informational responses", () => {
  const heads = new ResponseHeads()
  const early = [new Field(":status", "103", false)]
  expect(heads.read(early, "GET", false)).not.toBe(heads.read(early, "GET", false))
  expect(heads.read([TYPE], "GET", false)).toBe("bad-pseudo-header")
})

// Without a length, an HTTP/1.1 client waits for the connection to close.
it.each([
  ["GET", "200", "content-length: 0"],
  ["POST", "404", "content-length: 0"],
  ["HEAD", "200", undefined],
  ["GET", "204", undefined],
  ["GET", "304", undefined],
])("writes a response without content to %s with status %s as %s over HTTP/1.1", (method, status, length) => {
  const head = readResponseHead([new Field(":status", status, false), TYPE], method, true)
  if (typeof head === "string") throw new Error(head)
  const lines = responseHeadText(head, { method, version: "http/1.1" }, framingFor(head, "http/1.1"), "").split("\r\n")
  expect(lines.find(line => /^(content-length|transfer-encoding)/.test(line))).toBe(length)
})

const field = fc.constantFrom(
  ["content-type", "application/grpc"],
  ["content-type", "text/plain"],
  ["content-length", "2"],
  ["x-a", "1"],
  ["x-a", "2"],
  ["set-cookie", "a=b"],
  ["connection", "close"],
)
const response = fc.record({
  status: fc.constantFrom("103", "200", "204", "404"),
  fields: fc.uniqueArray(field, { maxLength: 3 }),
  method: fc.constantFrom("GET", "HEAD"),
  ended: fc.boolean(),
})

it("parses each head as it would alone, while the table changes", () => {
  fc.assert(
    fc.property(fc.array(response, { maxLength: 20 }), responses => {
      const heads = new ResponseHeads()
      const encoder = new HpackEncoder()
      const decoder = new HpackDecoder(64 * 1024, 200)
      for (const { status, fields, method, ended } of responses) {
        encoder.field(":status", status)
        for (const [name = "", value = ""] of fields) encoder.field(name, value)
        const block = Buffer.from(encoder.finish(), "latin1")
        const list = decoder.decode(block, 0, block.length) ?? []
        const [received, alone] = [heads.read(list, method, ended), readResponseHead(list, method, ended)].map(shown)
        expect(received).toEqual(alone)
      }
    }),
  )
})

function shown(head: ReturnType<typeof readResponseHead>) {
  if (typeof head === "string") return head
  const { status, framing, trailers, headers } = head
  return { status, framing, trailers, lines: headers.lines(() => true) }
}
