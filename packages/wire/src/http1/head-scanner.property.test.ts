// SPDX-License-Identifier: Apache-2.0
// The scanner finds what RFC 9112 defines, wherever in a buffer a head lies and however it is split.

import fc from "fast-check"
import { expect, inject, it } from "vitest"
import type { RequestHead } from "../http/public.js"
import { HeadScanner } from "./head-scanner.js"
import { parseRequestHead } from "./request-head.js"
import { mutated, requestText } from "./testing/messages.js"

const BUFFER = Buffer.alloc(64 * 1024)

interface Found {
  readonly after: number
  readonly text?: string
  readonly printable?: boolean
  readonly error?: string
}

/** A reference scanner: byte by byte, and it only remembers the line. */
function expected(bytes: Buffer, maxBytes: number): Found {
  let lineStart = 0
  for (let at = 0; at < bytes.length; at++) {
    if (at === maxBytes) return { after: -2, error: "head-too-large" }
    if ((bytes[at] === 0x0a) !== (at > 0 && bytes[at - 1] === 0x0d)) return { after: -2, error: "bad-line-end" }
    if (bytes[at] !== 0x0a) continue
    if (at === lineStart + 1) {
      const head = bytes.subarray(0, at + 1)
      const printable = head.every(byte => (byte >= 0x20 && byte !== 0x7f) || [0x09, 0x0a, 0x0d].includes(byte))
      return { after: at + 1, text: head.toString("latin1"), printable }
    }
    lineStart = at + 1
  }
  return { after: -1 }
}

/** Scans the bytes in two pieces, the second of which is in `buffer` from `offset` on. */
function scanned(bytes: Buffer, cut: number, maxBytes: number, buffer: Buffer, offset: number): Found {
  const scanner = new HeadScanner(maxBytes)
  const first = bytes.subarray(0, cut)
  const rest = bytes.subarray(cut)
  let after = scanner.scan(first, 0, first.length)
  if (after === -1) {
    rest.copy(buffer, offset)
    const end = scanner.scan(buffer, offset, offset + rest.length)
    after = end < 0 ? end : end - offset + cut
  }
  if (after === -1) return { after }
  return after === -2 ? { after, error: scanner.error } : { after, text: scanner.text, printable: scanner.printable }
}

/** All parts of a head, including its private ones. */
function opened(head: RequestHead | string): unknown {
  if (typeof head === "string") return head
  const { headers } = head
  const lines = Array.from({ length: headers.size }, (_, at) => [headers.name(at), headers.value(at), headers.line(at)])
  return { ...head, lines }
}

const longLine = fc
  .uint8Array({ minLength: 20, maxLength: 80, min: 0x20 })
  .map(bytes => `x-long: ${Buffer.from(bytes).toString("latin1")}\r\n`)
const head = fc
  .tuple(requestText, longLine)
  .map(([text, line]) => text.replace("\r\n", `\r\n${line.replaceAll("\x7f", "~")}`))
const whole = mutated(head).map(text => Buffer.from(text, "latin1"))

it("finds the same at any position in a buffer and in any pieces", () => {
  const place = fc.oneof(fc.nat(7), fc.nat(60_000), fc.constant(Number.POSITIVE_INFINITY))
  fc.assert(
    fc.property(whole, fc.nat(), place, fc.option(fc.nat(400), { nil: 64 * 1024 }), (bytes, where, start, maxBytes) => {
      const cut = where % (bytes.length + 1)
      // At most so far that the last byte is the buffer's last.
      const offset = Math.min(start, BUFFER.length - (bytes.length - cut))
      const found = expected(bytes, maxBytes)
      expect(scanned(bytes, cut, maxBytes, BUFFER, offset)).toEqual(found)
    }),
    { numRuns: 3_000 * inject("effort") },
  )
})

it("treats every byte the same at every position", () => {
  for (let byte = 0; byte < 256; byte++) {
    for (let at = 0; at < 9; at++) {
      const bytes = Buffer.from(`x: ${"-".repeat(8)}${"=".repeat(30)}\r\n\r\n`)
      bytes[3 + at] = byte
      const found = expected(bytes, 1_024)
      for (let offset = 0; offset < 4; offset++) {
        expect(scanned(bytes, 0, 1_024, BUFFER, offset)).toEqual(found)
      }
    }
  }
})

it("parses a request the same whether its characters are checked again or not", () => {
  fc.assert(
    fc.property(whole, bytes => {
      const { text, printable } = expected(bytes, 64 * 1024)
      if (text === undefined) return
      expect(opened(parseRequestHead(text, 100, printable))).toEqual(opened(parseRequestHead(text, 100)))
    }),
    { numRuns: 3_000 * inject("effort") },
  )
})
